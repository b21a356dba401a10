package main

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	sampled    = 32  // at full speed one tuple in so many has its latency taken, else all have
	serialFlop = 32  // from here on the multiplies of a tuple wait for those of the one before it in the block
	published  = 32  // tuples after which a counter is published: an atomic store takes longer than a cheap operator
	buckets    = 592 // of the latency histogram: exact below 16 ns, then 16 to each power of two
	cacheLines = 128 // bytes: a line and the one that is fetched with it
	golden     = 0x9E3779B97F4A7C15
	mixer      = 0xD6E8FEB86659FD93
)

type header struct {
	sequence uint64
	born     int64 // ns since the start; 0: its latency is not taken
	value    float64
	path     uint32
}

type stream struct {
	target *operator
	step   uint32
}

type operator struct {
	kind   string
	cost   int
	busy   time.Duration
	gap    float64 // ns from one tuple of a source to the next; 0: full speed
	ports  [][]stream
	in     chan tuple   // tuples one by one, or
	blocks chan *block  // in blocks
	open   atomic.Int64 // streams into it that have not ended

	// The operator before reads what is above with each tuple, and this one writes what is below,
	// in other cache lines.
	_ [cacheLines]byte

	executed atomic.Int64
	latency  [buckets]atomic.Int64
	longest  atomic.Int64

	// What follows is read when all have ended.
	left, outOfOrder, harmed int64
	sum                      uint64   // of the fingerprints of what was sent, received, or not executed
	next                     []uint64 // of a sink, by path: the sequence number after the last one

	_ [cacheLines]byte // another operator may be next in memory
}

var (
	payloadBytes, batchTuples int
	wholeWords                bool  // in a payload
	factor                    = 1.0 // a variable of the package: the compiler must read it
)

func fingerprint(sequence uint64) uint64 {
	mixed := (sequence + 1) * golden
	mixed = (mixed ^ mixed>>32) * mixer
	return mixed ^ mixed>>32
}

// By a signed number, which one instruction converts.
func valueOf(sequence uint64) float64 { return 1.0 + float64(int64(sequence&1023))/1024.0 }

type number interface{ ~int | ~int64 }

func min[N number](a, b N) N {
	if a < b {
		return a
	}
	return b
}

func max[N number](a, b N) N {
	if a > b {
		return a
	}
	return b
}

func now() int64 { return time.Since(began).Nanoseconds() }

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
		return int(max(ns, 0))
	}
	octave := bits.Len64(uint64(ns)) - 5
	return min((octave+1)*16+int(ns>>octave)-16, buckets-1)
}

// The slice becomes shorter, so that the compiler sees that no access is out of bounds; by eight words, as that costs as
// much as a word.
func fill(space []byte, sequence uint64) {
	word := sequence * golden
	for ; len(space) >= 64; space = space[64:] {
		binary.LittleEndian.PutUint64(space, word)
		binary.LittleEndian.PutUint64(space[8:], word+1)
		binary.LittleEndian.PutUint64(space[16:], word+2)
		binary.LittleEndian.PutUint64(space[24:], word+3)
		binary.LittleEndian.PutUint64(space[32:], word+4)
		binary.LittleEndian.PutUint64(space[40:], word+5)
		binary.LittleEndian.PutUint64(space[48:], word+6)
		binary.LittleEndian.PutUint64(space[56:], word+7)
		word += 8
	}
	for ; len(space) >= 8; space = space[8:] {
		binary.LittleEndian.PutUint64(space, word)
		word++
	}
	for i := range space {
		space[i] = byte(word >> (8 * i))
	}
}

// Looks at the first and the last whole word, at the bytes after it, and at one word between that changes from tuple to
// tuple.
func intact(space []byte, sequence, mixed uint64) bool {
	words, base := uint64(len(space)/8), sequence*golden
	if !wholeWords && !isRest(space[8*words:], base+words) {
		return false
	}
	if words == 0 {
		return true
	}
	between := (mixed >> 32) * words >> 32
	return binary.LittleEndian.Uint64(space) == base &&
		binary.LittleEndian.Uint64(space[8*(words-1):]) == base+words-1 &&
		binary.LittleEndian.Uint64(space[8*between:]) == base+between
}

//go:noinline
func isRest(space []byte, word uint64) bool {
	for i, each := range space {
		if each != byte(word>>(8*i)) {
			return false
		}
	}
	return true
}

func (op *operator) run(limit int64) {
	switch {
	case op.kind == "source" && batchTuples > 1:
		op.sendBlocks(limit)
	case op.kind == "source":
		op.source(limit)
	case op.kind == "sink" && batchTuples > 1:
		op.receiveBlocks()
	case op.kind == "sink":
		op.sink()
	case batchTuples > 1:
		op.workOnBlocks()
	default:
		op.work()
	}
}

// The next tuple of a source: when it is due, or now. `wait` is called if that is not yet, before the source sleeps.
func (op *operator) make(n int64, wait func()) header {
	h := header{sequence: uint64(n), value: valueOf(uint64(n))}
	if op.gap > 0 {
		due := int64(float64(n) * op.gap)
		for late := now() - due; late < 0 && !stopping.Load(); late = now() - due {
			wait()
			time.Sleep(min(time.Duration(-late), 10*time.Millisecond))
		}
		h.born = max(1, due)
	} else if n%sampled == 0 {
		h.born = now()
	}
	op.sum += fingerprint(h.sequence)
	return h
}

// The last operator that sends to a channel closes it.
func (op *operator) endStreams() {
	for _, port := range op.ports {
		for _, to := range port {
			if to.target.open.Add(-1) > 0 {
				continue
			}
			if batchTuples > 1 {
				close(to.target.blocks)
			} else {
				close(to.target.in)
			}
		}
	}
}

// A tuple that is not executed any more.
func (op *operator) leave(sequence uint64) {
	op.left++
	op.sum += fingerprint(sequence)
}

func (op *operator) observe(ns int64) {
	op.latency[bucketOf(ns)].Add(1)
	if ns > op.longest.Load() {
		op.longest.Store(ns)
	}
}

// A tuple at a sink.
func (op *operator) receive(h *header, payload []byte) {
	mixed := fingerprint(h.sequence)
	op.sum += mixed
	if h.value != valueOf(h.sequence) || !intact(payload, h.sequence, mixed) {
		op.harmed++
	}
	if h.born > 0 {
		op.observe(now() - h.born)
	}
	for int(h.path) >= len(op.next) {
		op.next = append(op.next, 0)
	}
	if h.sequence < op.next[h.path] {
		op.outOfOrder++
	}
	op.next[h.path] = h.sequence + 1
}

// Of one dependent multiply: the least of many measurements, as all but the least were disturbed.
func nsPerFlop() float64 {
	const flop, longest = 200_000, 100 * time.Millisecond
	least := math.Inf(1)
	for first := time.Now(); time.Since(first) < longest; {
		begin := time.Now()
		if multiply(1.5, factor, flop) != 1.5 {
			panic("a multiply by 1.0 changed a value")
		}
		least = math.Min(least, float64(time.Since(begin).Nanoseconds())/flop)
	}
	return least
}
