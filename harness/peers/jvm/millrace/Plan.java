package millrace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The graph that a program is told: harness/peers/plan.py says how. */
public final class Plan {
    /** Where the tuples of an output port go, and what is added to their path. */
    public record Stream(int target, int step) {}

    /** `gapNs`: from one tuple of a source to the next; 0: full speed. */
    public record Operator(String kind, int cost, long busyNs, List<List<Stream>> ports, double gapNs) {}

    public final List<Operator> operators = new ArrayList<>();
    public final List<Integer> arriving = new ArrayList<>(); // streams into each operator
    public int payload;
    public int capacity;
    public int batch; // tuples that are handed on at once
    public long limit;

    /** The number after those of a round, in which a source at full speed makes a block for each of its ports. */
    public long endOfRound(long first, int ports) {
        long end = first + (long) ports * batch;
        return limit < 0 ? end : Math.min(end, limit);
    }

    public static Plan read(String file) throws IOException {
        Plan plan = new Plan();
        for (String line : Files.readAllLines(Path.of(file))) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "payload" -> plan.payload = Integer.parseInt(words[1]);
                case "capacity" -> plan.capacity = Integer.parseInt(words[1]);
                case "batch" -> plan.batch = Integer.parseInt(words[1]);
                case "gap" -> {
                    int source = Integer.parseInt(words[1]);
                    Operator at = plan.operators.get(source);
                    double gapNs = Double.parseDouble(words[2]);
                    plan.operators.set(source, new Operator(at.kind(), at.cost(), at.busyNs(), at.ports(), gapNs));
                }
                case "tuples" -> plan.limit = Long.parseLong(words[1]);
                case "operator" -> {
                    List<List<Stream>> ports = new ArrayList<>();
                    for (int i = Integer.parseInt(words[4]); i > 0; i--) {
                        ports.add(new ArrayList<>());
                    }
                    plan.operators.add(new Operator(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]), ports, 0.0));
                    plan.arriving.add(0);
                }
                case "stream" -> {
                    int target = Integer.parseInt(words[3]);
                    List<Stream> port = plan.operators.get(Integer.parseInt(words[1])).ports().get(Integer.parseInt(words[2]));
                    port.add(new Stream(target, Integer.parseInt(words[4])));
                    plan.arriving.set(target, plan.arriving.get(target) + 1);
                }
                default -> throw new IOException("not a line of a plan: " + line);
            }
        }
        return plan;
    }
}
