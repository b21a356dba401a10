package millrace;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one operator does with a tuple, and what it has counted. One thread at a time calls it; the control thread reads `executed`,
 * `latency` and `longest` meanwhile, and the rest when all is over.
 */
public final class Tally {
    static final int BUCKETS = 592; // exact below 16 ns, then 16 to each power of two
    static final int SAMPLED = 32; // one tuple in so many has its latency taken
    private static final int SERIAL_FLOP = 32; // from here on a chain of multiplies continues from tuple to tuple
    private static volatile double one = 1.0;

    final AtomicLong executed = new AtomicLong();
    final AtomicLong longest = new AtomicLong();
    final AtomicLongArray latency = new AtomicLongArray(BUCKETS);
    volatile long left;
    long sum; // of the fingerprints of what was sent, received, or not executed
    long outOfOrder;
    long harmed;

    private final int cost;
    private final long busyNs;
    private final int payload;
    private final double factor = one;
    private double before = 1.0;
    private long[] next = new long[16]; // by path: the sequence number after the last one

    Tally(Plan.Operator operator, int payload) {
        this.cost = operator.cost();
        this.busyNs = operator.busyNs();
        this.payload = payload;
    }

    /** The source's next tuple; null if it shall end. */
    public Tuple send(long limit) {
        long sequence = executed.get();
        if (sequence == limit || Run.stopping) {
            return null;
        }
        long born = sequence % SAMPLED == 0 ? Run.now() : 0;
        sum += Tuple.fingerprint(sequence);
        return new Tuple(sequence, born, Tuple.valueOf(sequence), 0, Tuple.filled(sequence, payload));
    }

    /** A tuple was executed, or sent. */
    public void count() {
        executed.lazySet(executed.get() + 1);
    }

    /** What a work operator makes of a value. */
    public double work(double value) {
        if (busyNs > 0) {
            for (long end = System.nanoTime() + busyNs; System.nanoTime() < end; ) {
                Thread.onSpinWait();
            }
            return value;
        }
        if (cost < SERIAL_FLOP) {
            return multiply(value, factor, cost);
        }
        before = multiply(value + (before - before), factor, cost - 2);
        return before;
    }

    /** Whether tuples are not executed any more: then `leave` counts this one. */
    public boolean leaves(long sequence) {
        if (!Run.cut) {
            return false;
        }
        left = left + 1;
        sum += Tuple.fingerprint(sequence);
        return true;
    }

    /** A tuple has arrived at a sink. */
    public void receive(long sequence, long born, double value, int path, byte[] bytes) {
        if (value != Tuple.valueOf(sequence) || !Tuple.isIntact(sequence, bytes, payload)) {
            harmed++;
        }
        if (born > 0) {
            long ns = Run.now() - born;
            int bucket = bucketOf(ns);
            latency.lazySet(bucket, latency.get(bucket) + 1);
            if (ns > longest.get()) {
                longest.lazySet(ns);
            }
        }
        if (leaves(sequence)) {
            return;
        }
        sum += Tuple.fingerprint(sequence);
        while (path >= next.length) {
            next = java.util.Arrays.copyOf(next, 2 * next.length);
        }
        if (sequence < next[path]) {
            outOfOrder++;
        }
        next[path] = sequence + 1;
        count();
    }

    static double multiply(double value, double by, int cost) {
        for (int i = 0; i < cost; i++) {
            value *= by;
        }
        return value;
    }

    static int bucketOf(long ns) {
        if (ns < 16) {
            return (int) Math.max(ns, 0);
        }
        int octave = 59 - Long.numberOfLeadingZeros(ns);
        return Math.min((octave + 1) * 16 + (int) (ns >> octave) - 16, BUCKETS - 1);
    }

    /** Nanoseconds of one dependent multiply: the median of some measurements, after as many that let it be compiled. */
    static double nsPerFlop() {
        int flop = 200_000;
        double[] times = new double[9];
        for (int round = 0; round < 2 * times.length; round++) {
            long begin = System.nanoTime();
            if (multiply(1.5, one, flop) != 1.5) {
                throw new AssertionError("a multiply by 1.0 changed a value");
            }
            times[round % times.length] = (double) (System.nanoTime() - begin) / flop;
        }
        java.util.Arrays.sort(times);
        return times[times.length / 2];
    }
}
