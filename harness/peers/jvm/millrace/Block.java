package millrace;

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

    /** Adds a source's next tuple, and counts it. */
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
        for (int i = 0; i < count; i++) {
            sink.receive(sequence[i], born[i], value[i], path[i], payloads, i * bytes);
        }
        sink.count(count);
    }
}
