package transcode

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var update = flag.Bool("update", false, "write messages.txt")

const tableFile = "messages.txt"

// special are the types with methods that write their JSON.
var special = map[reflect.Type]kind{
	reflect.TypeFor[metav1.Time]():          moment,
	reflect.TypeFor[metav1.MicroTime]():     micro,
	reflect.TypeFor[metav1.Duration]():      duration,
	reflect.TypeFor[resource.Quantity]():    quantity,
	reflect.TypeFor[intstr.IntOrString]():   either,
	reflect.TypeFor[runtime.RawExtension](): document,
	reflect.TypeFor[metav1.FieldsV1]():      document,
}

// This test is also the generator (table.go).
func TestTableMatchesGoTypes(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile(tableFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not generated from the current types (-generated +file):\n%s", tableFile, diff)
	}
}

// objects returns the kinds of objects that a cluster stores.
func objects() map[schema.GroupVersionKind]reflect.Type {
	kinds := map[schema.GroupVersionKind]reflect.Type{}
	for kind, of := range scheme.Scheme.AllKnownTypes() {
		if _, ok := of.FieldByName("ObjectMeta"); ok && kind.Version != runtime.APIVersionInternal {
			kinds[kind] = of
		}
	}
	return kinds
}

// generate returns the table of all objects.
func generate(t *testing.T) string {
	t.Helper()
	g := generator{lines: map[string]string{}}
	for kind, of := range objects() {
		if err := g.message(of); err != nil {
			t.Fatal(err)
		}
		name := nameOf(of)
		header, rest, _ := strings.Cut(g.lines[name], "\n")
		if strings.Contains(header, " ") {
			continue // a type of several kinds; the first one is found below
		}
		g.lines[name] = fmt.Sprintf("%s %s,%s,%s\n%s", name, kind.Group, kind.Version, kind.Kind, rest)
	}
	var b strings.Builder
	names := make([]string, 0, len(g.lines))
	for name := range g.lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(g.lines[name])
	}
	return b.String()
}

// generator collects the lines of messages by their names.
type generator struct{ lines map[string]string }

// nameOf returns the name of a type: core/v1.Pod.
func nameOf(of reflect.Type) string {
	path := strings.TrimPrefix(strings.TrimPrefix(of.PkgPath(), "k8s.io/api/"), "k8s.io/apimachinery/pkg/")
	return path + "." + of.Name()
}

func (g *generator) message(of reflect.Type) error {
	name := nameOf(of)
	if g.lines[name] != "" {
		return nil
	}
	g.lines[name] = name + "\n"
	for i := range of.NumField() {
		line, err := g.field(of.Field(i))
		if err != nil {
			return fmt.Errorf("%s.%s: %w", of, of.Field(i).Name, err)
		}
		g.lines[name] += line
	}
	return nil
}

// field returns the line of a field; empty for fields that are not in protobuf.
func (g *generator) field(member reflect.StructField) (string, error) {
	tag := strings.Split(member.Tag.Get("protobuf"), ",")
	name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
	if len(tag) < 2 {
		if member.Type == reflect.TypeFor[metav1.TypeMeta]() {
			return "", nil
		}
		return "", fmt.Errorf("no number in protobuf")
	}
	if name == "" {
		name = "-"
	}
	words, of := []string{"", name, tag[1]}, member.Type
	container := ""
	var marks []string
	if of.Kind() == reflect.Pointer {
		of, marks = of.Elem(), []string{"pointer"}
	}
	switch {
	case of.Kind() == reflect.Map:
		of, container = of.Elem(), "map"
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 && !isTexts(of):
		of, container = of.Elem(), "list"
	}
	if of.Kind() == reflect.Pointer {
		return "", fmt.Errorf("pointers in %s are not supported", member.Type)
	}
	typed, err := g.typeOf(of)
	if err != nil {
		return "", err
	}
	words = append(words, typed)
	if container != "" {
		words = append(words, container)
	}
	if omits(member.Type, options) {
		words = append(words, "optional")
	}
	return strings.Join(append(words, marks...), " ") + "\n", nil
}

// omits reports whether encoding/json omits empty values of a type. It has the option omitzero for structures.
func omits(of reflect.Type, options string) bool {
	if of.Kind() == reflect.Struct {
		return strings.Contains(options, "omitzero")
	}
	return strings.Contains(options, "omitempty")
}

// isTexts reports whether a type is a list of texts that is a message in protobuf.
func isTexts(of reflect.Type) bool {
	_, message := reflect.PointerTo(of).MethodByName("Unmarshal")
	return of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String && message
}

func (g *generator) typeOf(of reflect.Type) (string, error) {
	if known, ok := special[of]; ok {
		return string(known), nil
	}
	switch of.Kind() {
	case reflect.String:
		return string(str), nil
	case reflect.Bool:
		return string(boolean), nil
	case reflect.Int32, reflect.Int64:
		return string(integer), nil
	case reflect.Struct:
		if _, custom := of.MethodByName("MarshalJSON"); custom {
			return "", fmt.Errorf("%s writes its own JSON", of)
		}
		return nameOf(of), g.message(of)
	case reflect.Slice:
		switch {
		case of.Elem().Kind() == reflect.Uint8:
			return string(binary), nil
		case isTexts(of):
			return string(texts), nil
		}
	default:
	}
	return "", fmt.Errorf("%s is not supported", of)
}

// Two kinds never share a Go type, so the table has one line for each kind.
func TestTableHasAllKinds(t *testing.T) {
	kinds := objects()
	if len(kinds) < 150 {
		t.Errorf("got %d kinds, want at least 150", len(kinds))
	}
	for kind := range kinds {
		if !Knows(kind) {
			t.Errorf("%s is missing", kind)
		}
	}
}
