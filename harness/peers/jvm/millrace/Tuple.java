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
        long base = sequence * GOLDEN;
        int i = 0;
        for (; i + 8 <= bytes; i += 8) {
            WORDS.set(payload, i, base + i / 8);
        }
        for (int j = i; j < bytes; j++) {
            payload[j] = (byte) (base + i / 8 >>> 8 * (j - i));
        }
        return payload;
    }

    /** Looks at the first and the last whole word, and at one between that changes from tuple to tuple. */
    public static boolean isIntact(long sequence, byte[] payload, int bytes) {
        if (payload.length != bytes) {
            return false;
        }
        int words = bytes / 8;
        return words == 0
                || isIntact(sequence, payload, words, 0)
                        && isIntact(sequence, payload, words, words - 1)
                        && isIntact(sequence, payload, words, (int) ((fingerprint(sequence) >>> 32) * words >>> 32));
    }

    private static boolean isIntact(long sequence, byte[] payload, int words, int word) {
        return (long) WORDS.get(payload, 8 * word) == sequence * GOLDEN + word;
    }
}
