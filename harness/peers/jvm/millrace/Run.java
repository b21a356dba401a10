package millrace;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** One run in this process: its clock, its flags, its tallies, and the words of whoever measures it (harness/peers/program.py). */
public final class Run {
    private static final int DEPLOYED_S = 110;

    /** What executes the graph. */
    public interface Engine {
        /** Threads that execute operators. */
        int threads();

        /** Tuples that a queue holds. */
        default int capacity() {
            return plan.capacity;
        }

        /** Tuples that are handed on at once, at most. */
        default int batch() {
            return plan.batch;
        }

        /** Starts them. */
        void start() throws Exception;

        /** Waits until every tuple has arrived and the sources have ended; false after so many ms. */
        boolean await(long ms) throws Exception;
    }

    private static final long LOST_MS = 10_000;

    public static volatile boolean stopping;
    public static volatile boolean cut;
    public static Plan plan;
    private static Tally[] tallies;
    private static volatile long began;
    private static volatile long ended;

    private Run() {}

    /** The tally of an operator. */
    public static Tally tally(int operator) {
        return tallies[operator];
    }

    /** Tuples that an operator has been done with, executed or left. */
    public static long handled(int operator) {
        return tallies[operator].executed.get() + tallies[operator].left;
    }

    /** Tuples that an operator has sent on, or a source has sent. */
    public static long executed(int operator) {
        return tallies[operator].executed.get();
    }

    /** Ns since the start; never 0. */
    public static long now() {
        return Math.max(1, System.nanoTime() - began);
    }

    /** Obeys until it is told to stop, then ends the process: libraries leave threads behind that would keep it. */
    public static void main(String file, Function<Plan, Engine> make) {
        PrintStream answers = System.out;
        System.setOut(System.err); // what a library prints must not mix with the answers
        try {
            plan = Plan.read(file);
            tallies = plan.operators.stream().map(op -> new Tally(op, plan.payload)).toArray(Tally[]::new);
            obey(make.apply(plan), answers);
        } catch (Throwable problem) {
            fail(problem);
        }
        answers.flush();
        System.err.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Waits until a cluster has deployed all operators, each of which counts down once. */
    public static void awaitDeployed(CountDownLatch deployed) {
        try {
            if (!deployed.await(DEPLOYED_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException(deployed.getCount() + " operators were not deployed within " + DEPLOYED_S + " s");
            }
        } catch (InterruptedException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** Ends the process at once, whatever its threads do; the last line that it prints is the cause. */
    public static void fail(Throwable problem) {
        problem.printStackTrace();
        Throwable cause = problem;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        System.err.println(cause.getMessage() == null ? cause.toString() : cause.getMessage());
        System.err.flush();
        Runtime.getRuntime().halt(1);
    }

    private static void obey(Engine engine, PrintStream answers) throws Exception {
        String sizes = "\"threads\":" + engine.threads() + ",\"capacity\":" + engine.capacity() + ",\"batch\":" + engine.batch();
        answer(answers, "ready", sizes);
        BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
        for (String line = words.readLine(); line != null; line = words.readLine()) {
            String[] word = line.split(" ");
            switch (word[0]) {
                case "start" -> {
                    began = System.nanoTime();
                    engine.start();
                    Thread watch = new Thread(() -> watch(engine));
                    watch.setDaemon(true);
                    watch.start();
                    answer(answers, "started", "");
                }
                case "sample" -> answer(answers, "sample", counts());
                case "stop" -> {
                    stopping = true;
                    if (!engine.await(Long.parseLong(word[1]))) {
                        cut = true;
                        engine.await(LOST_MS); // what has not arrived then is lost, and the counts say so
                    }
                    answer(answers, "totals", totals());
                    return;
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    /** Notes when a run has ended by itself. */
    private static void watch(Engine engine) {
        try {
            while (!engine.await(1000)) {}
            ended = now();
        } catch (Exception problem) {
            fail(problem);
        }
    }

    private static String counts() {
        StringBuilder latency = new StringBuilder();
        long longest = 0;
        for (int bucket = 0; bucket < Tally.BUCKETS; bucket++) {
            long count = 0;
            for (Tally tally : tallies) {
                count += tally.latency.get(bucket);
                longest = Math.max(longest, tally.longest.get());
            }
            if (count > 0) {
                latency.append(latency.isEmpty() ? "" : ",").append(bucket).append(',').append(count);
            }
        }
        long end = ended;
        return "\"ns\":" + (end > 0 ? end : now())
                + ",\"executed\":" + list(tally -> Long.toString(tally.executed.get()))
                + ",\"latency\":[" + latency + "],\"longest\":" + longest + ",\"finished\":" + (end > 0);
    }

    private static String totals() {
        long outOfOrder = 0;
        long harmed = 0;
        boolean drained = true;
        for (Tally tally : tallies) {
            outOfOrder += tally.outOfOrder;
            harmed += tally.harmed;
            drained &= tally.left == 0;
        }
        return counts() + ",\"drained\":" + drained
                + ",\"left\":" + list(tally -> Long.toString(tally.left))
                + ",\"sums\":" + list(tally -> Long.toUnsignedString(tally.sum))
                + ",\"out_of_order\":" + outOfOrder + ",\"harmed\":" + harmed + ",\"ns_per_flop\":" + Tally.nsPerFlop();
    }

    private static String list(Function<Tally, String> number) {
        return IntStream.range(0, tallies.length).mapToObj(i -> number.apply(tallies[i])).collect(Collectors.joining(",", "[", "]"));
    }

    private static void answer(PrintStream answers, String word, String told) {
        answers.println("{\"" + word + "\":{" + told + "}}");
        answers.flush();
    }
}
