package millrace;

import java.util.ArrayList;
import java.util.List;

/** Chains of one length between one source and one sink. Millrace starts a program that needs this shape with no other graph. */
public final class Chains {
    /** Of one chain: its operators, and what all its streams add to a tuple's path. */
    public record Chain(int[] operators, int path) {}

    public final int source;
    public final int sink;
    public final List<Chain> chains = new ArrayList<>();

    public Chains(Plan plan) {
        source = find(plan, "source");
        sink = find(plan, "sink");
        for (List<Plan.Stream> port : plan.operators.get(source).ports()) {
            List<Integer> operators = new ArrayList<>();
            Plan.Stream stream = port.get(0);
            int path = stream.step();
            while (stream.target() != sink) {
                operators.add(stream.target());
                stream = plan.operators.get(stream.target()).ports().get(0).get(0);
                path += stream.step();
            }
            chains.add(new Chain(operators.stream().mapToInt(Integer::intValue).toArray(), path));
        }
    }

    public int width() {
        return chains.size();
    }

    public int depth() {
        return chains.get(0).operators.length;
    }

    private static int find(Plan plan, String kind) {
        for (int i = 0; i < plan.operators.size(); i++) {
            if (plan.operators.get(i).kind().equals(kind)) {
                return i;
            }
        }
        throw new IllegalArgumentException("no " + kind);
    }
}
