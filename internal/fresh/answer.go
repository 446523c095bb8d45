package fresh

import (
	"math"
	"time"
)

// Answer is the size of the upstream's response to a read that the lane would otherwise serve. A freshness check never
// costs more than this response.
type Answer struct {
	Objects int
	Bytes   int // of JSON, before compression
	Page    int // number of objects in the requested page; 0: all
}

// Endless returns the Answer to a watch, which keeps the upstream busy for as long as it lasts.
func Endless() Answer { return Answer{Objects: math.MaxInt32, Bytes: math.MaxInt32} }

// Prices are processor time of kube-apiserver 1.37, measured on one core of the machine in docs/benchmarks.md. Only
// their ratios matter.
const (
	// requestPrice is the price of any small read: TLS, filters, flow control and a quorum read of etcd. A probe is such a
	// read.
	requestPrice = 250 * time.Microsecond
	// objectPrice and bytePrice are the prices of each object and of each byte of a list.
	objectPrice = 3 * time.Microsecond
	bytePrice   = 8 * time.Nanosecond
	// calledPrice is the price of each object of a roll call: its metadata in protobuf.
	calledPrice = 4 * time.Microsecond
	// costlyPrice is the price of ten probes. Before any request that costs the upstream more, a probe is sent, even if it
	// probably does not confirm the lane.
	costlyPrice = 10 * requestPrice
	// definedPrice is the price of each byte of a definition whose metadata is read, because kube-apiserver decodes all of
	// it.
	definedPrice = 45 * time.Nanosecond
	// progressWatchPrice is the price of a progress watch and the probe that goes with it.
	progressWatchPrice = 4 * requestPrice
	// worthPrice is the minimum that a roll call has to save, because serving from the cache has a price, too.
	worthPrice = 20 * time.Microsecond
)

const (
	// smallObjects and smallBytes limit the answers that the upstream gives itself, so that no reader waits up to two
	// seconds for a progress watch. Such an answer costs the upstream a few milliseconds for objects of the usual size.
	smallObjects = 500
	smallBytes   = 8 << 20
)

func (a Answer) price() time.Duration {
	return requestPrice + time.Duration(a.Objects)*objectPrice + time.Duration(a.Bytes)*bytePrice
}

func (a Answer) isCostly() bool { return a.price() > costlyPrice }

// Small reports whether the upstream should answer itself, rather than let the reader wait long for a freshness check.
func (a Answer) Small() bool { return a.Objects <= smallObjects && a.Bytes <= smallBytes }

// SmallPage reports whether the requested page is small, whatever follows it. If so, the upstream answers after a
// failed wait, although it has the version.
func (a Answer) SmallPage() bool { return a.Page > 0 && a.Page <= smallObjects }

// rollCallPrice returns the price of a roll call of the given number of objects.
func rollCallPrice(objects int) time.Duration {
	return requestPrice + time.Duration(objects)*calledPrice
}
