import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The process's side of a cell: what it shall do, and its talk with the parent. See cells/stage.go. */
final class Stage {
    private final Map<String, String> spec = new HashMap<>();
    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final PrintStream out = System.out;
    private Meters began;
    private CompletableFuture<Meters> ended;

    /** What the process has used up to an instant. */
    private record Meters(long nanos, long cpu) {
        static Meters read() {
            OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            return new Meters(System.nanoTime(), os.getProcessCpuTime());
        }
    }

    Stage(String[] words) {
        for (String word : words) {
            int equals = word.indexOf('=');
            spec.put(word.substring(0, equals), word.substring(equals + 1));
        }
        System.setOut(System.err); // a library that chats must not garble the talk
    }

    String text(String name) {
        return spec.get(name);
    }

    int number(String name) {
        return Integer.parseInt(spec.get(name));
    }

    long nanos(String name) {
        return TimeUnit.MICROSECONDS.toNanos(Long.parseLong(spec.get(name)));
    }

    String lockName(int number) {
        return text("prefix") + ":" + number;
    }

    void ready() throws IOException {
        System.gc();
        out.println("{\"event\":\"ready\"}");
        out.flush();
        String word = in.readLine();
        if (!"go".equals(word)) {
            throw new IOException("the parent said " + word);
        }
        began = Meters.read();
        ended = CompletableFuture.supplyAsync(Meters::read,
                CompletableFuture.delayedExecutor(nanos("duration"), TimeUnit.NANOSECONDS));
    }

    void done(Result result) throws IOException {
        Meters end = ended.join();
        double seconds = (end.nanos() - began.nanos()) / 1e9;
        double cpu = (end.cpu() - began.cpu()) / 1e9;
        out.println("{\"event\":\"done\",\"result\":" + result.json(seconds, cpu) + "}");
        out.flush();
        in.readLine(); // until the parent has looked at the server
    }

    void failed(Throwable cause) {
        String text = cause.toString().replaceAll("[^ -~]", " ").replace("\\", "/").replace("\"", "'");
        out.println("{\"event\":\"failed\",\"error\":\"" + text + "\"}");
        out.flush();
    }

    static long heap() {
        System.gc();
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
