package wire

import (
	"bytes"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// YAMLWriter turns one JSON document into YAML as kube-apiserver does (semantics 7.3): its keys are sorted, so nothing
// can be written before the end is known, and the document is decoded. That is for answers of a bounded size.
type YAMLWriter struct {
	w    io.Writer
	json bytes.Buffer
}

// NewYAMLWriter writes YAML to w when it is closed.
func NewYAMLWriter(w io.Writer) *YAMLWriter { return &YAMLWriter{w: w} }

// Write implements io.Writer.
func (y *YAMLWriter) Write(p []byte) (int, error) { return y.json.Write(p) }

// Close writes the document.
func (y *YAMLWriter) Close() error {
	text, err := yaml.JSONToYAML(y.json.Bytes())
	if err != nil {
		return fmt.Errorf("turn an answer into YAML: %w", err)
	}
	_, err = y.w.Write(text)
	return err
}
