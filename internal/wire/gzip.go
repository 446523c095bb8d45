package wire

import (
	"bytes"
	"io"
	"strings"
)

// AcceptsGzip reports whether an Accept-Encoding header offers gzip. Like kube-apiserver, it does not recognize gzip
// with a quality value.
func AcceptsGzip(acceptEncoding string) bool {
	for part := range strings.SplitSeq(acceptEncoding, ",") {
		if strings.TrimSpace(part) == "gzip" {
			return true
		}
	}
	return false
}

// WriteMember writes p as one gzip member in a single Write. A streaming list is a sequence of members, one for each
// flush (semantics 6.6). The last block is empty, because Go's gzip reader returns the content of the last block only
// after the header of the next member.
func WriteMember(w io.Writer, p []byte) error {
	out := scratch.Get().(*bytes.Buffer)
	out.Reset()
	out.Write(memberHead)
	if err := appendFlate(out, flates, p); err != nil {
		return err
	}
	var sum checksum
	sum.write(p)
	return endMember(w, out, &sum)
}

// WritePrecompressed writes precompressed text as one gzip member.
func WritePrecompressed(w io.Writer, d *Deflated) error {
	out := scratch.Get().(*bytes.Buffer)
	out.Reset()
	out.Write(memberHead)
	out.Write(d.blocks)
	return endMember(w, out, &d.sum)
}

func endMember(w io.Writer, out *bytes.Buffer, sum *checksum) error {
	out.Write(lastBlock)
	out.Write(sum.appendTo(out.AvailableBuffer()))
	if _, err := w.Write(out.Bytes()); err != nil {
		return err // HTTP/2 may still read the buffer, so it is not reused
	}
	scratch.Put(out)
	return nil
}
