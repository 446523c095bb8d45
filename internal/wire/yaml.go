package wire

import (
	"bytes"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// YAMLWriter converts one JSON document to YAML as kube-apiserver does (semantics 7.3). The keys are sorted, so it
// keeps the complete document in memory until Close. Use it only for responses of limited size.
type YAMLWriter struct {
	w    io.Writer
	json bytes.Buffer
}

// NewYAMLWriter returns a YAMLWriter that writes the YAML to w on Close.
func NewYAMLWriter(w io.Writer) *YAMLWriter { return &YAMLWriter{w: w} }

// Write implements io.Writer.
func (y *YAMLWriter) Write(p []byte) (int, error) { return y.json.Write(p) }

// Close converts the document and writes it.
func (y *YAMLWriter) Close() error {
	text, err := yaml.JSONToYAML(y.json.Bytes())
	if err != nil {
		return fmt.Errorf("convert response to YAML: %w", err)
	}
	_, err = y.w.Write(text)
	return err
}
