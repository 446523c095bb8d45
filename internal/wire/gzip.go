package wire

import (
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// compressors are at level 1, kube-apiserver's.
var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic("BUG: gzip level 1 is refused: " + err.Error())
	}
	return w
}}

// AcceptsGzip tells whether an Accept-Encoding header offers gzip as kube-apiserver reads it: a quality with it does
// not count.
func AcceptsGzip(acceptEncoding string) bool {
	for part := range strings.SplitSeq(acceptEncoding, ",") {
		if strings.TrimSpace(part) == "gzip" {
			return true
		}
	}
	return false
}

// recycle makes a compressor available again, without what it wrote to.
func recycle(z *gzip.Writer) {
	z.Reset(io.Discard)
	compressors.Put(z)
}

// WriteMember writes p as one gzip member. A streaming list is a sequence of members, one each flush (semantics 6.6).
// The flush before the end keeps p out of the member's last block: Go's reader holds back what that block holds until
// it has seen the next member's head, which is sent with the next event.
func WriteMember(w io.Writer, p []byte) error {
	z := compressors.Get().(*gzip.Writer)
	defer recycle(z)
	z.Reset(w)
	if _, err := z.Write(p); err != nil {
		return err
	}
	if err := z.Flush(); err != nil {
		return err
	}
	return z.Close()
}
