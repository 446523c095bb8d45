package dataset

import (
	"compress/gzip"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// The range of compression ratios of real pod lists, with gzip at level 1.
const (
	minRatio = 5.0
	maxRatio = 7.0
)

// Ratio is the compression of a list with gzip at level 1.
type Ratio struct {
	Bytes      int64 // of the items' JSON
	Compressed int64
}

// Value returns the uncompressed size divided by the compressed size.
func (r Ratio) Value() float64 { return float64(r.Bytes) / float64(r.Compressed) }

// RatioError reports that a data set does not compress like real lists.
type RatioError struct{ Ratio Ratio }

func (e *RatioError) Error() string {
	return fmt.Sprintf("the list shrinks %.2f times under gzip level 1; real ones shrink %g to %g times", e.Ratio.Value(),
		minRatio, maxRatio)
}

// CheckRatio compresses the pods' JSON as one stream with the standard library, like kube-apiserver. It returns a
// *RatioError when the pods are too similar or too different.
func (s Spec) CheckRatio() (Ratio, error) {
	var plain, compressed counter
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestSpeed)
	if err != nil {
		return Ratio{}, fmt.Errorf("prepare gzip: %w", err)
	}
	if err := s.writeJSON(func(item []byte) error {
		plain += counter(len(item))
		_, err := w.Write(item)
		return err
	}); err != nil {
		return Ratio{}, err
	}
	if err := w.Close(); err != nil {
		return Ratio{}, fmt.Errorf("compress: %w", err)
	}
	ratio := Ratio{Bytes: int64(plain), Compressed: int64(compressed)}
	if v := ratio.Value(); v < minRatio || v > maxRatio {
		return ratio, &RatioError{Ratio: ratio}
	}
	return ratio, nil
}

// writeJSON passes each pod's JSON to write, as in a list: without kind and apiVersion.
func (s Spec) writeJSON(write func([]byte) error) error {
	for pod := range s.All() {
		item, err := json.Marshal(&corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: pod.Status})
		if err != nil {
			return fmt.Errorf("encode a pod: %w", err)
		}
		if err := write(item); err != nil {
			return fmt.Errorf("compress: %w", err)
		}
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
