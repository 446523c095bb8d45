package zpages

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/flagz/api/v1alpha1"
	"k8s.io/apiserver/pkg/server/flagz/api/v1beta1"
	"k8s.io/apiserver/pkg/server/flagz/negotiate"
)

// Classified is the annotation of flags with secret values. Flags returns CLASSIFIED in place of such a value.
const Classified = "classified"

var userinfo = regexp.MustCompile(`://[^/\s,]*@`)

// Flags returns the values of flags by name, without secrets.
func Flags(sets ...*pflag.FlagSet) map[string]string {
	values := map[string]string{}
	for _, set := range sets {
		set.VisitAll(func(flag *pflag.Flag) {
			values[flag.Name] = userinfo.ReplaceAllString(flag.Value.String(), "://"+strings.ToUpper(Classified)+"@")
			if len(flag.Annotations[Classified]) > 0 {
				values[flag.Name] = strings.ToUpper(Classified)
			}
		})
	}
	return values
}

// Flagz returns the page for FlagzPath.
func Flagz(flags map[string]string) *Page {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	kinds := map[schema.GroupVersionKind]bool{
		v1alpha1.SchemeGroupVersion.WithKind("Flagz"): true, v1beta1.SchemeGroupVersion.WithKind("Flagz"): true,
	}
	text := flagsText(flags)
	return &Page{
		Name: "flagz", Codecs: newCodecs(scheme),
		Restrictions: negotiate.FlagzEndpointRestrictions{RecognizedStructuredKinds: kinds},
		Text:         func() []byte { return text },
		Object:       func(kind schema.GroupVersionKind) runtime.Object { return flagsObject(flags, kind) },
	}
}

// flagsText returns the text of the page. It is called once, so that all responses have the same delimiter, as in other
// components.
func flagsText(flags map[string]string) []byte {
	between := delimiters[rand.IntN(len(delimiters))]
	text := fmt.Sprintf("\n%s flagz\n%s", component, warning)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		text += name + between + flags[name] + "\n"
	}
	return []byte(text)
}

func flagsObject(flags map[string]string, kind schema.GroupVersionKind) runtime.Object {
	object := v1beta1.Flagz{
		TypeMeta:   metav1.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{Name: component}, Flags: flags,
	}
	if kind.Version == deprecated {
		old := v1alpha1.Flagz(object)
		return &old
	}
	return &object
}
