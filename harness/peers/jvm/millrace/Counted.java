package millrace;

import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** Tells by counts alone when a graph is done with all that its sources sent: for frameworks that have no last tuple. */
public final class Counted {
    private static AtomicIntegerArray ended;

    private Counted() {}

    public static void watch(Plan plan) {
        ended = new AtomicIntegerArray(plan.operators.size());
    }

    /** A source will send no more. */
    public static void end(int source) {
        ended.set(source, 1);
    }

    /** Waits until all is done; false after so many ms. */
    public static boolean await(Plan plan, long ms) throws InterruptedException {
        long deadline = System.nanoTime() + ms * 1_000_000;
        while (true) {
            // Counts are read one after the other, so that one look may mix moments: two that see the same did not.
            long first = look(plan);
            if (first >= 0 && first == look(plan)) {
                return true;
            }
            if (System.nanoTime() >= deadline) {
                return false;
            }
            Thread.sleep(1);
        }
    }

    /** All tuples that operators have been done with; -1 if some are still on their way, or to come. */
    private static long look(Plan plan) {
        long[] arriving = new long[plan.operators.size()];
        for (int i = 0; i < arriving.length; i++) {
            Plan.Operator operator = plan.operators.get(i);
            if (operator.kind().equals("source") && ended.get(i) == 0) {
                return -1;
            }
            long executed = Run.executed(i);
            int ports = operator.ports().size();
            for (int port = 0; port < ports; port++) {
                List<Plan.Stream> streams = operator.ports().get(port);
                for (Plan.Stream stream : streams) {
                    arriving[stream.target()] += executed / ports + (port < executed % ports ? 1 : 0);
                }
            }
        }
        long handled = 0;
        for (int i = 0; i < arriving.length; i++) {
            if (!plan.operators.get(i).kind().equals("source")) {
                if (Run.handled(i) != arriving[i]) {
                    return -1;
                }
                handled += arriving[i];
            }
        }
        return handled;
    }
}
