package fresh

import (
	"math"
	"time"
)

// Answer is the size of the response that the upstream would send if the lane did not serve a read.
type Answer struct {
	Objects int
	Bytes   int // size as JSON, before compression
	Page    int // number of objects in the requested page; 0: all objects
}

// Endless returns the Answer to a watch, which keeps the upstream busy for as long as it lasts.
func Endless() Answer { return Answer{Objects: math.MaxInt32, Bytes: math.MaxInt32} }

// Prices are processor time of kube-apiserver 1.37, measured on one core of the machine in docs/benchmarks.md.
const (
	// requestPrice is the price of a small read, such as a probe: TLS, filters, flow control and a quorum read of etcd.
	requestPrice = 250 * time.Microsecond
	objectPrice  = 3 * time.Microsecond
	bytePrice    = 8 * time.Nanosecond
	// calledPrice is the price of each object of a roll call, which contains the object's metadata in protobuf.
	calledPrice = 4 * time.Microsecond
	// costlyPrice is the price of ten probes. A probe that will probably not confirm the lane is only worth sending before
	// a read that costs the upstream more than costlyPrice.
	costlyPrice = 10 * requestPrice
	// definedPrice is the price of each byte of a definition. kube-apiserver decodes the complete definition, although
	// only the definition's metadata is read.
	definedPrice = 45 * time.Nanosecond
	// progressWatchPrice is the price of a progress watch together with its probe.
	progressWatchPrice = 4 * requestPrice
	// worthPrice is the minimum saving for which a roll call is made, because serving from the cache has a price, too.
	worthPrice = 20 * time.Microsecond
)

const (
	// smallObjects and smallBytes are the maximum size of a small answer.
	smallObjects = 500
	smallBytes   = 8 << 20
)

func (a Answer) price() time.Duration {
	return requestPrice + time.Duration(a.Objects)*objectPrice + time.Duration(a.Bytes)*bytePrice
}

func (a Answer) isCostly() bool { return a.price() > costlyPrice }

// Small reports whether the answer is small. The upstream may then give it, so that the reader need not wait up to two
// seconds for a progress watch.
func (a Answer) Small() bool { return a.Objects <= smallObjects && a.Bytes <= smallBytes }

// SmallPage reports whether the requested page is small, even if the complete list is not.
func (a Answer) SmallPage() bool { return a.Page > 0 && a.Page <= smallObjects }

func rollCallPrice(objects int) time.Duration {
	return requestPrice + time.Duration(objects)*calledPrice
}
