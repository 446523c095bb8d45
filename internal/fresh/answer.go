package fresh

import (
	"math"
	"time"
)

// Answer is what the upstream would have to send if it answered a read in the lane's place. It says what a proof may
// cost: never more than the answer.
type Answer struct {
	Objects int
	Bytes   int // of JSON, before compression
	Page    int // how many of the objects are asked for at once; 0: all
}

// protobufBytes is how many bytes of protobuf cost the upstream as much as one of JSON, of the same objects.
const protobufBytes = 4

// InProtobuf is the answer when its bytes are protobuf: in as many bytes of JSON as it takes the upstream to make them.
func (a Answer) InProtobuf() Answer {
	a.Bytes /= protobufBytes
	return a
}

// Endless is the answer to a watch: the upstream would have it on its hands for as long as the watch lasts.
func Endless() Answer { return Answer{Objects: math.MaxInt32, Bytes: math.MaxInt32} }

// The prices are processor time of kube-apiserver 1.37, as measured on one core of the machine of docs/benchmarks.md.
// Only how they compare matters.
const (
	// requestPrice is that of any small read: TLS, filters, flow control and a quorum read of etcd. A probe is such
	// one.
	requestPrice = 250 * time.Microsecond
	// objectPrice and bytePrice are those of each object of a list, and of each byte of it.
	objectPrice = 3 * time.Microsecond
	bytePrice   = 8 * time.Nanosecond
	// calledPrice is that of each object of a roll call: its metadata in protobuf.
	calledPrice = 4 * time.Microsecond
	// costlyPrice is that of ten probes: before the upstream is asked for what costs it more, it is probed, whatever the
	// chances are that this proves the lane.
	costlyPrice = 10 * requestPrice
	// definedPrice is that of each byte of a definition when its metadata is read: kube-apiserver decodes all of it.
	definedPrice = 45 * time.Nanosecond
	// progressWatchPrice is that of a fence, with the probe that goes with it.
	progressWatchPrice = 4 * requestPrice
	// worthPrice is how much a roll call has to save: the answer from the cache is not for nothing either.
	worthPrice = 20 * time.Microsecond
)

const (
	// smallObjects and smallBytes are how much the upstream is asked for rather than that somebody waits up to two
	// seconds for a fence: that takes it a few milliseconds, for objects of the usual size.
	smallObjects = 500
	smallBytes   = 8 << 20
)

func (a Answer) price() time.Duration {
	return requestPrice + time.Duration(a.Objects)*objectPrice + time.Duration(a.Bytes)*bytePrice
}

func (a Answer) isCostly() bool { return a.price() > costlyPrice }

// Small tells whether the upstream answers rather than that somebody waits long for a proof.
func (a Answer) Small() bool { return a.Objects <= smallObjects && a.Bytes <= smallBytes }

// SmallPage tells whether the upstream answers once waiting was in vain, although it has the version: what is asked for
// now is small, however much follows.
func (a Answer) SmallPage() bool { return a.Page > 0 && a.Page <= smallObjects }

// rollCallPrice is what it takes the upstream to call over so many objects.
func rollCallPrice(objects int) time.Duration {
	return requestPrice + time.Duration(objects)*calledPrice
}
