package millrace;

import java.util.Arrays;

/** Tuples that travel together: arrays of primitives. */
public final class Block {
    public final double[] value;
    public int count;
    private final int bytes; // of a payload
    private final long[] sequence;
    private final long[] born;
    private final int[] path;
    private final byte[] payloads;

    public Block(int tuples, int payload) {
        bytes = payload;
        sequence = new long[tuples];
        born = new long[tuples];
        value = new double[tuples];
        path = new int[tuples];
        payloads = new byte[tuples * payload];
    }

    /**
     * Makes the tuples of a source at full speed with the number `first`, and every so many after it, below `end`, and counts them. Each loop
     * is over one array. Meanwhile the counters of the source are local variables.
     */
    public void make(Tally source, long first, int every, long end) {
        count = (int) ((end - first + every - 1) / every);
        long sum = 0;
        for (int i = 0; i < count; i++) {
            long number = first + (long) i * every;
            sequence[i] = number;
            value[i] = Tuple.valueOf(number);
            sum += Tuple.fingerprint(number);
        }
        Arrays.fill(path, 0, count, 0);
        for (int i = 0; i < count; i++) {
            born[i] = source.bornNow(sequence[i]);
            Tuple.fill(sequence[i], payloads, i * bytes, bytes);
        }
        source.made(count, sum);
    }

    /** Adds the next tuple of a source with a rate, and counts it. */
    public void add(Tally source) {
        int i = count++;
        sequence[i] = source.executed();
        born[i] = source.born();
        value[i] = Tuple.valueOf(sequence[i]);
        path[i] = 0;
        Tuple.fill(sequence[i], payloads, i * bytes, bytes);
        source.count();
    }

    /** Adds tuples of another block. */
    public void add(Block from, int begin, int tuples) {
        System.arraycopy(from.sequence, begin, sequence, count, tuples);
        System.arraycopy(from.born, begin, born, count, tuples);
        System.arraycopy(from.value, begin, value, count, tuples);
        System.arraycopy(from.path, begin, path, count, tuples);
        System.arraycopy(from.payloads, begin * bytes, payloads, count * bytes, tuples * bytes);
        count += tuples;
    }

    /** Its tuples have passed a stream that adds so much to their paths. */
    public void pass(int step) {
        if (step > 0) {
            for (int i = 0; i < count; i++) {
                path[i] += step;
            }
        }
    }

    /** Whether tuples are not executed any more: then these are counted. */
    public boolean isLeftBy(Tally operator) {
        if (!Run.cut) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            operator.leaves(sequence[i]);
        }
        return true;
    }

    /** It has arrived at a sink. */
    public void arrive(Tally sink) {
        sink.receive(sequence, born, value, path, payloads, count);
    }
}
