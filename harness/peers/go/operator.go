package main

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	sampled    = 32  // one tuple in so many has its latency taken
	serialFlop = 32  // from here on an operator's chain of multiplies continues from tuple to tuple
	published  = 32  // tuples after which a counter is published: an atomic store takes longer than a cheap operator
	buckets    = 592 // of the latency histogram: exact below 16 ns, then 16 to each power of two
	golden     = 0x9E3779B97F4A7C15
	mixer      = 0xD6E8FEB86659FD93
)

// A payload of up to 128 bytes lies in the tuple, as in ours; a longer one behind a slice that the source makes.
type tuple struct {
	sequence uint64
	born     int64 // ns since the start; 0: its latency is not taken
	value    float64
	path     uint32
	final    bool
	payload  [128]byte
	more     []byte
}

type stream struct {
	target *operator
	step   uint32
}

type operator struct {
	kind  string
	cost  int
	busy  time.Duration
	ports [][]stream
	in    chan tuple
	open  int // streams that have not ended

	executed atomic.Int64
	latency  [buckets]atomic.Int64
	longest  atomic.Int64

	// What follows is read when all have ended.
	left, outOfOrder, harmed int64
	sum                      uint64 // of the fingerprints of what was sent, received, or not executed
}

var (
	payloadBytes int
	factor       = 1.0 // a variable of the package: the compiler must read it
)

func fingerprint(sequence uint64) uint64 {
	mixed := (sequence + 1) * golden
	mixed = (mixed ^ mixed>>32) * mixer
	return mixed ^ mixed>>32
}

func valueOf(sequence uint64) float64 { return 1.0 + float64(sequence&1023)/1024.0 }

func multiply(value, by float64, cost int) float64 {
	for i := 0; i < cost; i++ {
		value *= by
	}
	return value
}

func beBusy(time_ time.Duration) {
	for end := time.Now().Add(time_); time.Now().Before(end); {
	}
}

func bucketOf(ns int64) int {
	if ns < 16 {
		if ns < 0 {
			return 0
		}
		return int(ns)
	}
	octave := bits.Len64(uint64(ns)) - 5
	if bucket := (octave+1)*16 + int(ns>>octave) - 16; bucket < buckets {
		return bucket
	}
	return buckets - 1
}

func fill(t *tuple) {
	base := t.sequence * golden
	space := t.payload[:min(payloadBytes, len(t.payload))]
	if payloadBytes > len(t.payload) {
		t.more = make([]byte, payloadBytes)
		space = t.more
	}
	i := 0
	for ; i+8 <= len(space); i += 8 {
		binary.LittleEndian.PutUint64(space[i:], base+uint64(i/8))
	}
	for j := i; j < len(space); j++ {
		space[j] = byte((base + uint64(i/8)) >> (8 * (j - i)))
	}
}

// Looks at the first and the last whole word, and at one between that changes from tuple to tuple.
func intact(t *tuple, mixed uint64) bool {
	space := t.payload[:min(payloadBytes, len(t.payload))]
	if payloadBytes > len(t.payload) {
		space = t.more
	}
	words := uint64(len(space) / 8)
	if words == 0 {
		return true
	}
	base := t.sequence * golden
	for _, i := range [3]uint64{0, words - 1, (mixed >> 32) * words >> 32} {
		if binary.LittleEndian.Uint64(space[8*i:]) != base+i {
			return false
		}
	}
	return true
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func (op *operator) run(limit int64) {
	switch op.kind {
	case "source":
		op.source(limit)
	case "sink":
		op.sink()
	default:
		op.work()
	}
}

func (op *operator) source(limit int64) {
	turn, n := 0, int64(0)
	for ; n != limit && !stopping.Load(); n++ {
		t := tuple{sequence: uint64(n), value: valueOf(uint64(n))}
		if n%sampled == 0 {
			t.born = time.Since(began).Nanoseconds()
		}
		fill(&t)
		op.sum += fingerprint(t.sequence)
		if n%published == 0 || len(op.ports[turn][0].target.in) == cap(op.ports[turn][0].target.in) {
			op.executed.Store(n) // also before it may have to wait
		}
		op.send(&t, turn)
		if turn++; turn == len(op.ports) {
			turn = 0
		}
	}
	op.executed.Store(n)
	op.close()
}

func (op *operator) work() {
	turn, n, before, by := 0, int64(0), 1.0, factor
	for t := range op.in {
		if t.final {
			if op.open--; op.open == 0 {
				break
			}
			continue
		}
		if cut.Load() {
			op.left++
			op.sum += fingerprint(t.sequence)
			continue
		}
		switch {
		case op.busy > 0:
			beBusy(op.busy)
		case op.cost >= serialFlop:
			t.value = multiply(t.value+(before-before), by, op.cost-2)
			before = t.value
		default:
			t.value = multiply(t.value, by, op.cost)
		}
		op.send(&t, turn)
		if turn++; turn == len(op.ports) {
			turn = 0
		}
		if n++; n%published == 0 || len(op.in) == 0 {
			op.executed.Store(n)
		}
	}
	op.executed.Store(n)
	op.close()
}

func (op *operator) sink() {
	n, longest := int64(0), int64(0)
	last := map[uint32]uint64{} // by path: the sequence number after the last one
	for t := range op.in {
		if t.final {
			if op.open--; op.open == 0 {
				break
			}
			continue
		}
		mixed := fingerprint(t.sequence)
		op.sum += mixed
		if t.value != valueOf(t.sequence) || !intact(&t, mixed) {
			op.harmed++
		}
		if t.born > 0 {
			ns := time.Since(began).Nanoseconds() - t.born
			op.latency[bucketOf(ns)].Add(1)
			if ns > longest {
				longest = ns
				op.longest.Store(ns)
			}
		}
		if cut.Load() {
			op.left++
			continue
		}
		if t.sequence < last[t.path] {
			op.outOfOrder++
		}
		last[t.path] = t.sequence + 1
		if n++; n%published == 0 || len(op.in) == 0 {
			op.executed.Store(n)
		}
	}
	op.executed.Store(n)
}

func (op *operator) send(t *tuple, port int) {
	path := t.path
	for _, to := range op.ports[port] {
		t.path = path + to.step
		to.target.in <- *t
	}
}

func (op *operator) close() {
	for _, port := range op.ports {
		for _, to := range port {
			to.target.in <- tuple{final: true}
		}
	}
}

func nsPerFlop() float64 {
	const flop, rounds = 200_000, 9
	var times [rounds]float64
	for i := range times {
		begin := time.Now()
		if multiply(1.5, factor, flop) != 1.5 {
			panic("a multiply by 1.0 changed a value")
		}
		times[i] = float64(time.Since(begin).Nanoseconds()) / flop
		for j := i; j > 0 && times[j] < times[j-1]; j-- {
			times[j], times[j-1] = times[j-1], times[j]
		}
	}
	return times[rounds/2]
}
