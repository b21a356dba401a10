package millrace;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** What travels on a stream. Public fields and constructor: frameworks that serialise want them. */
public final class Tuple {
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final long MIXER = 0xD6E8FEB86659FD93L;
    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    public long sequence;
    public long born; // ns since the start; 0: its latency is not taken
    public double value;
    public int path;
    public byte[] payload;

    public Tuple() {}

    public Tuple(long sequence, long born, double value, int path, byte[] payload) {
        this.sequence = sequence;
        this.born = born;
        this.value = value;
        this.path = path;
        this.payload = payload;
    }

    public static double valueOf(long sequence) {
        return 1.0 + (sequence & 1023) / 1024.0;
    }

    public static long fingerprint(long sequence) {
        long mixed = (sequence + 1) * GOLDEN;
        mixed = (mixed ^ mixed >>> 32) * MIXER;
        return mixed ^ mixed >>> 32;
    }

    public static byte[] filled(long sequence, int bytes) {
        byte[] payload = new byte[bytes];
        fill(sequence, payload, 0, bytes);
        return payload;
    }

    public static void fill(long sequence, byte[] space, int begin, int bytes) {
        long word = sequence * GOLDEN;
        int at = begin;
        int end = begin + bytes;
        for (; at + 64 <= end; at += 64, word += 8) { // a check of bounds in eight words costs less than one in each
            WORDS.set(space, at, word);
            WORDS.set(space, at + 8, word + 1);
            WORDS.set(space, at + 16, word + 2);
            WORDS.set(space, at + 24, word + 3);
            WORDS.set(space, at + 32, word + 4);
            WORDS.set(space, at + 40, word + 5);
            WORDS.set(space, at + 48, word + 6);
            WORDS.set(space, at + 56, word + 7);
        }
        for (; at + 8 <= end; at += 8) {
            WORDS.set(space, at, word++);
        }
        for (; at < end; at++, word >>>= 8) {
            space[at] = (byte) word;
        }
    }

    /** Looks at the first and the last whole word, at the bytes after it, and at one word between that changes from tuple to tuple. */
    public static boolean isIntact(long sequence, long mixed, byte[] space, int begin, int bytes) {
        int words = bytes / 8;
        boolean whole = words == 0
                || isWord(sequence, space, begin, 0)
                        && isWord(sequence, space, begin, words - 1)
                        && isWord(sequence, space, begin, (int) ((mixed >>> 32) * words >>> 32));
        return whole && (bytes % 8 == 0 || isRest(sequence * GOLDEN + words, space, begin + 8 * words, begin + bytes));
    }

    private static boolean isRest(long word, byte[] space, int begin, int end) {
        for (int i = begin; i < end; i++, word >>>= 8) {
            if (space[i] != (byte) word) {
                return false;
            }
        }
        return true;
    }

    private static boolean isWord(long sequence, byte[] space, int begin, int word) {
        return (long) WORDS.get(space, begin + 8 * word) == sequence * GOLDEN + word;
    }
}
