import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** What the process measured. See cells/result.go. */
final class Result {
    long ops;
    long stuck;
    double each;
    double routine;
    final Histogram waits = new Histogram();
    final Histogram pings = new Histogram();
    final List<Long> shares = new ArrayList<>();
    final List<Double> tails = new ArrayList<>();

    String json(double seconds, double cpu) {
        return "{\"seconds\":" + seconds + ",\"cpu\":" + cpu + ",\"ops\":" + ops + ",\"stuck\":" + stuck
                + ",\"each\":" + each + ",\"routine\":" + routine
                + ",\"shares\":" + list(shares) + ",\"tails\":" + list(tails)
                + ",\"waits\":" + waits.json() + ",\"pings\":" + pings.json() + "}";
    }

    private static String list(List<?> values) {
        return values.stream().map(Object::toString).collect(Collectors.joining(",", "[", "]"));
    }
}
