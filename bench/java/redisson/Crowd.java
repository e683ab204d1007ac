import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.redisson.api.RLock;

/** Threads that lock and unlock for a time. See rows/crowd.go. */
final class Crowd {
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(15);

    private final List<Worker> workers = new ArrayList<>();
    private final long busy;
    private final boolean pairs;
    private final AtomicInteger inside;

    private static final class Worker {
        final List<RLock> locks;
        long ops;
        boolean stuck;
        Histogram waits = new Histogram();

        Worker(List<RLock> locks) {
            this.locks = locks;
        }
    }

    /** With pairs the release is part of what is measured; with contended all want the same lock. */
    Crowd(long busy, boolean pairs, boolean contended) {
        this.busy = busy;
        this.pairs = pairs;
        this.inside = contended ? new AtomicInteger() : null;
    }

    void add(List<RLock> locks) {
        workers.add(new Worker(locks));
    }

    void run(long nanos) throws Exception {
        long end = System.nanoTime() + nanos;
        AtomicReference<Exception> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (Worker worker : workers) {
            worker.ops = 0;
            worker.waits = new Histogram();
            Thread thread = new Thread(() -> work(worker, end, failure));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    private void work(Worker worker, long end, AtomicReference<Exception> failure) {
        try {
            for (int turn = 0; failure.get() == null; turn++) {
                long start = System.nanoTime();
                if (start >= end) {
                    return;
                }
                RLock lock = worker.locks.get(turn % worker.locks.size());
                long granted = once(worker, lock, end);
                worker.waits.add((pairs ? System.nanoTime() : granted) - start);
                if (!worker.stuck && (pairs ? System.nanoTime() : granted) <= end) {
                    worker.ops++;
                }
            }
        } catch (Exception e) {
            failure.compareAndSet(null, e);
        }
    }

    private long once(Worker worker, RLock lock, long end) throws Exception {
        if (inside == null) {
            lock.lock();
        } else if (!lock.tryLock(end + PATIENCE - System.nanoTime(), -1, TimeUnit.NANOSECONDS)) {
            worker.stuck = true;
            return System.nanoTime();
        }
        long granted = System.nanoTime();
        if (inside != null && inside.incrementAndGet() != 1) {
            throw new IllegalStateException("two were inside the lock at once");
        }
        if (busy > 0) {
            LockSupport.parkNanos(busy);
        }
        if (inside != null) {
            inside.decrementAndGet();
        }
        lock.unlock();
        return granted;
    }

    Result result() {
        Result result = new Result();
        for (Worker worker : workers) {
            result.ops += worker.ops;
            result.stuck += worker.stuck ? 1 : 0;
            result.shares.add(worker.ops);
            if (worker.waits.count() > 0) {
                result.tails.add(worker.waits.quantile(0.99));
            }
            result.waits.merge(worker.waits);
        }
        return result;
    }
}
