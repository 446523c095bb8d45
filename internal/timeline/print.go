package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// printer prints entries in one format. close ends the output; it is not called after an error.
type printer interface {
	print(e *Entry) error
	close() error
}

func newPrinter(format string, of tableFormat, out io.Writer) (printer, error) {
	switch format {
	case "table":
		return &tablePrinter{out: out, tableFormat: of}, nil
	case "diff":
		return diffPrinter{out}, nil
	case "json":
		return &listPrinter{out: out, begin: `{"items":[`, between: ",", end: "]}\n", empty: "", encode: toJSON}, nil
	case "yaml":
		return &listPrinter{out: out, begin: "items:\n", empty: "items: []\n", encode: yamlElement}, nil
	}
	return nil, fmt.Errorf("--output %q: must be table, diff, json or yaml", format)
}

// listPrinter prints entries as elements of a list, without waiting for the next entry.
type listPrinter struct {
	out                        io.Writer
	begin, between, end, empty string
	encode                     func(any) ([]byte, error)
	printed                    int
}

func (p *listPrinter) print(e *Entry) error {
	text, err := p.encode(e)
	if err != nil {
		return err
	}
	before := p.between
	if p.printed == 0 {
		before = p.begin
	}
	p.printed++
	_, err = fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

func (p *listPrinter) close() error {
	rest := p.end
	switch {
	case p.printed == 0 && p.empty != "":
		rest = p.empty
	case p.printed == 0:
		rest = p.begin + p.end
	}
	_, err := io.WriteString(p.out, rest)
	return err
}

func yamlElement(value any) ([]byte, error) { return toYAML([]any{value}) }

// toYAML returns a value as YAML. The library parses JSON as YAML, which requires more escapes than JSON. toJSON writes
// these escapes.
func toYAML(value any) ([]byte, error) {
	text, err := toJSON(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// toJSON returns a value as JSON, with escapes for all control characters, because the output may be a terminal.
func toJSON(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var escaped []byte
	for _, r := range string(text) {
		if r < 0x7f || r > 0xffff || strconv.IsPrint(r) {
			escaped = utf8.AppendRune(escaped, r)
		} else {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
	}
	return escaped, nil
}
