package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// maxStreamed bounds the response of Stream, in bytes. The metrics of a large cluster have 10 to 20 MB.
	maxStreamed = 128 << 20
	streamWait  = 30 * time.Second
)

// Stream reads a path as plain text, within 30 s. It calls the function read with the body of a 200 response, and
// returns the error of read. Any other response is a *StatusError. A body above 128 MiB ends with an error instead of
// io.EOF.
func (r *Reviewer) Stream(ctx context.Context, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	response, err := r.client.Open(ctx, Target{Path: path}, "text/plain")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return read(http.MaxBytesReader(nil, response.Body, maxStreamed))
}
