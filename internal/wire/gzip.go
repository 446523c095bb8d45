package wire

import (
	"bytes"
	"io"
	"strings"
)

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

// WriteMember writes p as one gzip member, in one Write. A streaming list is a sequence of members, one each flush
// (semantics 6.6). The flush before the end keeps p out of the member's last block: Go's reader holds back what that
// block holds until it has seen the next member's head, which is sent with the next event.
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

// WritePrecompressed writes what was compressed ahead as one gzip member.
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
		return err // HTTP/2 may still be about to read what a client did not wait for
	}
	scratch.Put(out)
	return nil
}
