// A graph in Go: a goroutine an operator, a buffered channel before each. Tuples travel one by one (single.go), or in
// blocks (block.go).
//
// What it is told and what it answers: harness/peers/plan.py and harness/peers/program.py.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	stopping atomic.Bool
	cut      atomic.Bool
	began    time.Time
	ended    atomic.Int64 // ns since the start; 0: not yet
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// Returns the operators, the tuples that a queue holds, and those that a source sends.
func readPlan(path string) ([]*operator, int64, int64) {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	var operators []*operator
	var capacity, payload, limit, batch int64
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number := func(i int) int64 {
			value, err := strconv.ParseInt(words[i], 10, 64)
			check(err)
			return value
		}
		switch words[0] {
		case "payload":
			payload = number(1)
		case "capacity":
			capacity = number(1)
		case "batch":
			batch = number(1)
		case "gap":
			gap, err := strconv.ParseFloat(words[2], 64)
			check(err)
			operators[number(1)].gap = gap
		case "tuples":
			limit = number(1)
		case "operator":
			operators = append(operators, &operator{
				kind:  words[1],
				cost:  int(number(2)),
				busy:  time.Duration(number(3)),
				ports: make([][]stream, number(4)),
			})
		case "stream":
			target := operators[number(3)]
			from := operators[number(1)]
			from.ports[number(2)] = append(from.ports[number(2)], stream{target, uint32(number(4))})
			target.open.Add(1)
		}
	}
	check(lines.Err())
	payloadBytes, batchTuples, wholeWords = int(payload), int(batch), payload%8 == 0
	messages := max(1, capacity/batch)
	for _, op := range operators {
		if batch > 1 {
			op.blocks = make(chan *block, messages)
		} else {
			op.in = make(chan tuple, messages)
		}
	}
	return operators, messages * batch, limit
}

func counts(operators []*operator) string {
	executed := make([]string, len(operators))
	var latency []string
	longest := int64(0)
	var totals [buckets]int64
	for i, op := range operators {
		executed[i] = strconv.FormatInt(op.executed.Load(), 10)
		for bucket := range op.latency {
			totals[bucket] += op.latency[bucket].Load()
		}
		if ns := op.longest.Load(); ns > longest {
			longest = ns
		}
	}
	for bucket, count := range totals {
		if count > 0 {
			latency = append(latency, fmt.Sprintf("%d,%d", bucket, count))
		}
	}
	ns := ended.Load()
	if ns == 0 {
		ns = time.Since(began).Nanoseconds()
	}
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return fmt.Sprintf(`"ns":%d,"executed":[%s],"latency":[%s],"longest":%d,"switches":%d,"finished":%t`,
		ns, strings.Join(executed, ","), strings.Join(latency, ","), longest, usage.Nvcsw+usage.Nivcsw, ended.Load() > 0)
}

func totals(operators []*operator) string {
	left, sums := make([]string, len(operators)), make([]string, len(operators))
	drained, outOfOrder, harmed := true, int64(0), int64(0)
	for i, op := range operators {
		left[i] = strconv.FormatInt(op.left, 10)
		sums[i] = strconv.FormatUint(op.sum, 10)
		drained = drained && op.left == 0
		outOfOrder += op.outOfOrder
		harmed += op.harmed
	}
	return fmt.Sprintf(`%s,"drained":%t,"left":[%s],"sums":[%s],"out_of_order":%d,"harmed":%d,"ns_per_flop":%g`,
		counts(operators), drained, strings.Join(left, ","), strings.Join(sums, ","), outOfOrder, harmed, nsPerFlop())
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-version" {
		fmt.Println(runtime.Version())
		return
	}
	operators, capacity, limit := readPlan(os.Args[1])
	fmt.Printf("{\"ready\":{\"threads\":%d,\"capacity\":%d}}\n", runtime.GOMAXPROCS(0), capacity)
	var running sync.WaitGroup
	done := make(chan struct{})
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		switch word, rest, _ := strings.Cut(words.Text(), " "); word {
		case "start":
			began = time.Now()
			for _, op := range operators {
				running.Add(1)
				go func(op *operator) {
					defer running.Done()
					op.run(limit)
				}(op)
			}
			go func() {
				running.Wait()
				ended.Store(time.Since(began).Nanoseconds())
				close(done)
			}()
			fmt.Println(`{"started":{}}`)
		case "sample":
			fmt.Printf("{\"sample\":{%s}}\n", counts(operators))
		case "stop":
			ms, err := strconv.Atoi(rest)
			check(err)
			stopping.Store(true)
			select {
			case <-done:
			case <-time.After(time.Duration(ms) * time.Millisecond):
				cut.Store(true)
				<-done
			}
			fmt.Printf("{\"totals\":{%s}}\n", totals(operators))
			return
		}
	}
}
