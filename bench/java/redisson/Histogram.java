import java.util.Arrays;

/** Durations in buckets: 64 to each doubling, by the same rule as stats/histogram.go. For one thread. */
final class Histogram {
    private static final int SUB_BITS = 6;
    private static final int SUB_BUCKETS = 1 << SUB_BITS;

    private long[] counts = new long[0];
    private long max;

    void add(long nanos) {
        add(bucketOf(nanos), 1);
        max = Math.max(max, nanos);
    }

    private void add(int place, long n) {
        if (place >= counts.length) {
            counts = Arrays.copyOf(counts, place + 1);
        }
        counts[place] += n;
    }

    void merge(Histogram other) {
        for (int place = 0; place < other.counts.length; place++) {
            if (other.counts[place] > 0) {
                add(place, other.counts[place]);
            }
        }
        max = Math.max(max, other.max);
    }

    long count() {
        return Arrays.stream(counts).sum();
    }

    /** The duration in seconds that the share q of all stays at or below. */
    double quantile(double q) {
        long rank = Math.max((long) Math.ceil(q * count()), 1);
        for (int place = 0; place < counts.length; place++) {
            rank -= counts[place];
            if (rank <= 0) {
                return Math.min(middleOf(place), max / 1e9);
            }
        }
        return Double.NaN;
    }

    private static int bucketOf(long nanos) {
        long n = Math.max(nanos, 0);
        if (n < SUB_BUCKETS) {
            return (int) n;
        }
        int shift = 63 - Long.numberOfLeadingZeros(n) - SUB_BITS;
        return (shift + 1) * SUB_BUCKETS + (int) (n >> shift) - SUB_BUCKETS;
    }

    private static double middleOf(int place) {
        if (place < SUB_BUCKETS) {
            return place / 1e9;
        }
        int shift = place / SUB_BUCKETS - 1;
        double low = (double) ((long) (place % SUB_BUCKETS + SUB_BUCKETS) << shift);
        return (low + (1L << shift) / 2.0) / 1e9;
    }

    String json() {
        StringBuilder text = new StringBuilder("{\"counts\":{");
        String separator = "";
        for (int place = 0; place < counts.length; place++) {
            if (counts[place] > 0) {
                text.append(separator).append('"').append(place).append("\":").append(counts[place]);
                separator = ",";
            }
        }
        return text.append("},\"max\":").append(max).append('}').toString();
    }
}
