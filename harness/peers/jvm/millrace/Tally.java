package millrace;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one operator does with a tuple, and what it has counted. One thread at a time calls it; the control thread reads `executed`,
 * `latency` and `longest` meanwhile, and the rest when all is over.
 */
public final class Tally {
    static final int BUCKETS = 592; // exact below 16 ns, then 16 to each power of two
    static final int SAMPLED = 32; // at full speed one tuple in so many has its latency taken, else all have
    private static final int SERIAL_FLOP = 32; // from here on the multiplies of a tuple wait for those of the one before it in the block
    private static final long LONGEST_SLEEP_NS = 10_000_000;
    private static final long CALIBRATION_NS = 100_000_000;
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
    private final double gapNs;
    private long[] next = new long[16]; // by path: the sequence number after the last one

    Tally(Plan.Operator operator, int payload) {
        this.cost = operator.cost();
        this.busyNs = operator.busyNs();
        this.gapNs = operator.gapNs();
        this.payload = payload;
    }

    /** Tuples executed, or sent. */
    public long executed() {
        return executed.get();
    }

    /** True if the source makes a tuple, now or when it is due. */
    public boolean goesOn(long limit) {
        return executed.get() != limit && !Run.stopping;
    }

    /** Ns since the start when the source's next tuple is due; 0: at once. */
    private long due() {
        return gapNs > 0.0 ? Math.max(1, (long) (executed.get() * gapNs)) : 0;
    }

    /** True if the source has a rate. */
    public boolean isPaced() {
        return gapNs > 0.0;
    }

    /** False if the source's next tuple is not due yet. */
    public boolean isDue() {
        long due = due();
        return due == 0 || Run.now() >= due;
    }

    /** Tuples that a source may make now; at most so many, and none after its last one. */
    public int due(int most, long limit) {
        long made = executed.get();
        long left = limit < 0 ? most : Math.min(most, limit - made);
        return (int) (gapNs > 0.0 ? Math.min(left, Math.max(0, (long) (Run.now() / gapNs) + 1 - made)) : left);
    }

    /** Waits until the source's next tuple is due. */
    public void awaitDue() {
        long due = due();
        if (due > 0) {
            for (long late = Run.now() - due; late < 0 && !Run.stopping; late = Run.now() - due) {
                java.util.concurrent.locks.LockSupport.parkNanos(Math.min(-late, LONGEST_SLEEP_NS));
            }
        }
    }

    /** When the source's next tuple is born: when it is due, or `bornNow`. Its fingerprint is added. */
    public long born() {
        long sequence = executed.get();
        sum += Tuple.fingerprint(sequence);
        return gapNs > 0.0 ? due() : bornNow(sequence);
    }

    /** When a tuple of a source at full speed is born, now; 0 if its latency is not taken. */
    long bornNow(long sequence) {
        return sequence % SAMPLED != 0 ? 0 : Run.now();
    }

    /** A source has made so many tuples at once, with this sum of fingerprints. */
    void made(int tuples, long fingerprints) {
        sum += fingerprints;
        count(tuples);
    }

    /** The source's next tuple, when it is due; null if it shall end. */
    public Tuple send(long limit) {
        if (!goesOn(limit)) {
            return null;
        }
        awaitDue();
        long sequence = executed.get();
        return new Tuple(sequence, born(), Tuple.valueOf(sequence), 0, Tuple.filled(sequence, payload));
    }

    /** A tuple was executed, or sent. */
    public void count() {
        count(1);
    }

    /** So many tuples were executed. */
    public void count(int tuples) {
        executed.lazySet(executed.get() + tuples);
    }

    /** What a work operator makes of a value. */
    public double work(double value) {
        if (busyNs > 0) {
            beBusy();
            return value;
        }
        return multiply(value, factor, cost);
    }

    /** What it makes of a value that follows another one in a batch: from 32 FLOP on, it waits for what it made of that one. */
    public double workAfter(double before, double value) {
        return work(cost < SERIAL_FLOP ? value : value + (before - before));
    }

    /** What it makes of those of a block. */
    public void work(double[] values, int tuples) {
        if (busyNs > 0) {
            for (int i = 0; i < tuples; i++) {
                beBusy();
            }
        } else if (cost == 1) { // an inner loop would take longer than the multiply
            for (int i = 0; i < tuples; i++) {
                values[i] *= factor;
            }
        } else if (cost < SERIAL_FLOP) {
            for (int i = 0; i < tuples; i++) {
                values[i] = multiply(values[i], factor, cost);
            }
        } else {
            double before = factor;
            for (int i = 0; i < tuples; i++) {
                before = multiply(values[i] + (before - before), factor, cost);
                values[i] = before;
            }
        }
    }

    private void beBusy() {
        for (long end = System.nanoTime() + busyNs; System.nanoTime() < end; ) {
            Thread.onSpinWait();
        }
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

    /** A tuple has arrived at a sink by itself. */
    public void receive(long sequence, long born, double value, int path, byte[] bytes) {
        if (!leaves(sequence)) {
            if (bytes.length != payload) {
                harmed++;
            } else {
                receive(sequence, born, value, path, bytes, 0);
            }
            count();
        }
    }

    /** A tuple has arrived at a sink, with its payload from `begin` on. Whoever calls counts it. */
    private void receive(long sequence, long born, double value, int path, byte[] bytes, int begin) {
        long mixed = Tuple.fingerprint(sequence);
        sum += mixed;
        if (value != Tuple.valueOf(sequence) || !Tuple.isIntact(sequence, mixed, bytes, begin, payload)) {
            harmed++;
        }
        if (born > 0) {
            observe(Run.now() - born);
        }
        while (path >= next.length) {
            next = java.util.Arrays.copyOf(next, 2 * next.length);
        }
        if (sequence < next[path]) {
            outOfOrder++;
        }
        next[path] = sequence + 1;
    }

    /** Tuples of a block have arrived at a sink, and are counted. */
    void receive(long[] sequences, long[] born, double[] values, int[] paths, byte[] payloads, int tuples) {
        long fingerprints = 0;
        long wrong = 0;
        long late = 0;
        long[] after = next;
        for (int i = 0; i < tuples; i++) {
            long sequence = sequences[i];
            long mixed = Tuple.fingerprint(sequence);
            fingerprints += mixed;
            if (values[i] != Tuple.valueOf(sequence) || !Tuple.isIntact(sequence, mixed, payloads, i * payload, payload)) {
                wrong++;
            }
            if (born[i] > 0) {
                observe(Run.now() - born[i]);
            }
            int path = paths[i];
            while (path >= after.length) {
                after = java.util.Arrays.copyOf(after, 2 * after.length);
            }
            if (sequence < after[path]) {
                late++;
            }
            after[path] = sequence + 1;
        }
        next = after;
        sum += fingerprints;
        harmed += wrong;
        outOfOrder += late;
        count(tuples);
    }

    private void observe(long ns) {
        int bucket = bucketOf(ns);
        latency.lazySet(bucket, latency.get(bucket) + 1);
        if (ns > longest.get()) {
            longest.lazySet(ns);
        }
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

    /**
     * Nanoseconds of one dependent multiply: the least of many measurements, as all but the least were disturbed, or made before the code was
     * compiled.
     */
    static double nsPerFlop() {
        int flop = 200_000;
        double least = Double.POSITIVE_INFINITY;
        for (long now = System.nanoTime(), end = now + CALIBRATION_NS; now < end; ) {
            long begin = now;
            if (multiply(1.5, one, flop) != 1.5) {
                throw new AssertionError("a multiply by 1.0 changed a value");
            }
            now = System.nanoTime();
            least = Math.min(least, (double) (now - begin) / flop);
        }
        return least;
    }
}
