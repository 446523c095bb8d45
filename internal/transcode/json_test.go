package transcode

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// filler fills an object with random values, at most as many as are left.
type filler struct {
	*rand.Rand
	left int
}

// most is the maximum number of values of an object, as in a large pod.
const most = 500

// Texts that JSON escapes, and others.
var words = []string{"", "a", "web-1", "<b>&\u2028", "\"\\\n", "größe", "nginx:1.27"}

func (f *filler) word() string { return words[f.IntN(len(words))] }

// fill sets a value. At depth 0 it leaves structures empty, because the probability of absent parts must not be zero.
func (f *filler) fill(v reflect.Value, depth int) {
	if f.left--; f.left < 0 || f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.IntN(4)) * int64(f.IntN(1<<30)-1<<29))
	case reflect.Pointer:
		if f.IntN(3) > 0 && depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		f.slice(v, depth)
	case reflect.Map:
		f.entries(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if depth > 0 {
				f.fill(v.Field(i), depth-1)
			}
		}
	default:
		panic(fmt.Sprintf("cannot fill %s", v.Type()))
	}
}

func (f *filler) slice(v reflect.Value, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes([]byte(f.word()))
		return
	}
	n := f.IntN(3)
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(v.Index(i), depth-1)
	}
}

func (f *filler) entries(v reflect.Value, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	for range f.IntN(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString(f.word())
		f.fill(value, depth-1)
		v.SetMapIndex(key, value)
	}
}

// special fills types with methods that write their JSON.
func (f *filler) special(v reflect.Value) bool {
	at := time.Unix(int64(f.IntN(1<<31)), int64(f.IntN(1e9)))
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta: // not in protobuf
	case *metav1.Time:
		if f.IntN(3) > 0 {
			*p = metav1.NewTime(at)
		}
	case *metav1.MicroTime:
		if f.IntN(3) > 0 {
			*p = metav1.NewMicroTime(at)
		}
	case *metav1.Duration:
		p.Duration = time.Duration(f.IntN(1e12))
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "100m", "1500m", "2Gi", "3000Ki", "0.5", "1e3"}[f.IntN(7)])
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{{}, intstr.FromInt32(-3), intstr.FromString("10%")}[f.IntN(3)]
	case *runtime.RawExtension:
		p.Raw = [][]byte{nil, []byte(`{"b": "<x>", "a" : [1, null]}`)}[f.IntN(2)]
	case *metav1.FieldsV1:
		p.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{}}}`))
	default:
		return false
	}
	return true
}

// stored is an object as kube-apiserver stores it.
type stored interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

func TestJSONEqualsThatOfGoTypes(t *testing.T) {
	random := rand.New(rand.NewPCG(settings.Seed(t), 1))
	for kind, of := range objects() {
		for range settings.Amount(2, 200) {
			object, f := reflect.New(of), filler{random, most}
			f.fill(object.Elem(), 4+f.IntN(9))
			compare(t, kind, object.Interface().(stored))
		}
	}
}

// compare compares the JSON of an object that was stored in protobuf.
func compare(t *testing.T, kind schema.GroupVersionKind, object stored) {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	read := reflect.New(reflect.TypeOf(object).Elem()).Interface().(stored)
	if err := read.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	read.GetObjectKind().SetGroupVersionKind(kind)
	want, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JSON(nil, kind, raw)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s differs from the JSON of its type (-want +got):\n%s", kind, diff)
	}
}

func TestUnknownKindIsRefused(t *testing.T) {
	_, err := JSON(nil, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, nil)
	if !errors.Is(err, ErrUnknownKind) {
		t.Errorf("got %v, want %v", err, ErrUnknownKind)
	}
}

// Any bytes give an error or valid JSON.
func FuzzJSON(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	kinds := objects()
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for range 20 {
		object, fill := reflect.New(kinds[pod]), filler{random, most}
		fill.fill(object.Elem(), 12)
		raw, err := object.Interface().(stored).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := JSON(nil, pod, raw)
		switch {
		case err != nil && !errors.Is(err, ErrMalformed):
			t.Errorf("got %v, want an error that wraps %v", err, ErrMalformed)
		case err == nil && !json.Valid(got):
			t.Errorf("got invalid JSON %s", got)
		}
	})
}
