import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.api.redisnode.RedisSingle;
import org.redisson.config.Config;

/** One process of a cell, with Redisson's locks: the same kinds of work as those in rows/. */
public final class Cell {
    /** A virtual machine compiles what runs often, and is several times slower before. */
    private static final int WARMUP = 10;

    private final Stage stage;
    private final RedissonClient redisson;

    private Cell(Stage stage) {
        this.stage = stage;
        Config config = new Config();
        config.setUseScriptCache(true);
        config.setLockWatchdogTimeout(TimeUnit.NANOSECONDS.toMillis(stage.nanos("lease")));
        int connections = Math.min(Math.max(stage.number("goroutines"), 24), stage.nanos("distance") > 0 ? 128 : 64);
        config.useSingleServer().setAddress("redis://" + stage.text("addr"))
                .setConnectionPoolSize(connections)
                .setSubscriptionsPerConnection(5000);
        this.redisson = Redisson.create(config);
    }

    public static void main(String[] words) {
        Stage stage = new Stage(words);
        try {
            stage.done(new Cell(stage).work());
        } catch (Throwable cause) {
            stage.failed(cause);
        }
        Runtime.getRuntime().halt(0); // closing would wait for what is held
    }

    private Result work() throws Exception {
        switch (stage.text("work")) {
            case "uncontended":
                return uncontended();
            case "distinct":
                return crowd(false);
            case "hot":
                return crowd(true);
            case "waiters":
                return "holder".equals(stage.text("role")) ? holdThem() : waitForThem();
            case "held":
                return held();
            default:
                throw new IllegalArgumentException("no work " + stage.text("work"));
        }
    }

    private RLock lock(int number) {
        return redisson.getLock(stage.lockName(number));
    }

    private Result uncontended() throws Exception {
        RLock lock = lock(0);
        RedisSingle node = redisson.getRedisNodes(RedisNodes.SINGLE);
        alternate(lock, node, WARMUP * stage.nanos("warmup"), new Result());
        stage.ready();
        Result result = new Result();
        alternate(lock, node, stage.nanos("duration"), result);
        result.shares.add(result.ops);
        return result;
    }

    private void alternate(RLock lock, RedisSingle node, long nanos, Result result) {
        for (long end = System.nanoTime() + nanos; System.nanoTime() < end; result.ops++) {
            long start = System.nanoTime();
            lock.lock();
            lock.unlock();
            result.waits.add(System.nanoTime() - start);
            start = System.nanoTime();
            node.getInstance().ping();
            node.getInstance().ping();
            result.pings.add(System.nanoTime() - start);
        }
    }

    private Result crowd(boolean contended) throws Exception {
        int threads = stage.number("goroutines");
        int names = stage.number("names");
        int each = Math.max(names / threads, 1);
        Crowd crowd = new Crowd(stage.nanos("busy"), !contended, contended);
        for (int i = 0; i < threads; i++) {
            List<RLock> locks = new ArrayList<>();
            for (int j = 0; j < (contended ? 1 : each); j++) {
                locks.add(lock(contended ? 0 : (i * each + j) % names));
            }
            crowd.add(locks);
        }
        crowd.run(WARMUP * stage.nanos("warmup"));
        stage.ready();
        crowd.run(stage.nanos("duration"));
        return crowd.result();
    }

    private Result holdThem() throws Exception {
        for (int i = 0; i < stage.number("names"); i++) {
            lock(i).lock();
        }
        stage.ready();
        TimeUnit.NANOSECONDS.sleep(stage.nanos("duration"));
        return new Result();
    }

    private Result waitForThem() throws Exception {
        warmUp(64);
        int threads = stage.number("goroutines");
        long before = Stage.heap();
        for (int i = 0; i < threads; i++) {
            RLock lock = lock(i % stage.number("names"));
            Thread thread = new Thread(lock::lock);
            thread.setDaemon(true);
            thread.start();
        }
        TimeUnit.NANOSECONDS.sleep(stage.nanos("warmup"));
        Result result = new Result();
        result.each = (double) (Stage.heap() - before) / threads;
        stage.ready();
        TimeUnit.NANOSECONDS.sleep(stage.nanos("duration"));
        return result;
    }

    private Result held() throws Exception {
        warmUp(stage.number("goroutines"));
        long heap = Stage.heap();
        int before = ManagementFactory.getThreadMXBean().getThreadCount();
        int names = stage.number("names");
        List<RLock> locks = takeAll(names, stage.number("goroutines"));
        Result result = new Result();
        result.each = (double) (Stage.heap() - heap) / names;
        result.routine = ManagementFactory.getThreadMXBean().getThreadCount() - before;
        stage.ready();
        TimeUnit.NANOSECONDS.sleep(stage.nanos("duration"));
        if (locks.size() != names) {
            throw new IllegalStateException("only " + locks.size() + " locks were taken");
        }
        return result;
    }

    private void warmUp(int threads) throws Exception {
        Crowd crowd = new Crowd(0, true, false);
        for (int i = 0; i < threads; i++) {
            crowd.add(List.of(lock(-i - 1)));
        }
        crowd.run(WARMUP * TimeUnit.MILLISECONDS.toNanos(200));
    }

    private List<RLock> takeAll(int names, int threads) throws InterruptedException {
        List<RLock> locks = new ArrayList<>(names);
        List<Thread> takers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int first = i;
            Thread taker = new Thread(() -> {
                for (int number = first; number < names; number += threads) {
                    RLock lock = lock(number);
                    lock.lock();
                    synchronized (locks) {
                        locks.add(lock);
                    }
                }
            });
            takers.add(taker);
            taker.start();
        }
        for (Thread taker : takers) {
            taker.join();
        }
        return locks;
    }
}
