package zpages

import (
	"fmt"
	"html"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/statusz/api/v1alpha1"
	"k8s.io/apiserver/pkg/server/statusz/api/v1beta1"
	"k8s.io/apiserver/pkg/server/statusz/negotiate"
)

// Process is the content of Statusz.
type Process struct {
	Version string
	Started time.Time
	Paths   []string // served paths; only the first element of each is shown
}

// Statusz returns the page for StatuszPath.
func Statusz(p Process) *Page {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	kinds := map[schema.GroupVersionKind]bool{
		v1alpha1.SchemeGroupVersion.WithKind("Statusz"): true, v1beta1.SchemeGroupVersion.WithKind("Statusz"): true,
	}
	return &Page{
		Name: "statusz", Codecs: newCodecs(scheme),
		Restrictions: negotiate.StatuszEndpointRestrictions{RecognizedStructuredKinds: kinds},
		Text:         p.text, Object: p.object,
	}
}

// text returns the page in the layout of other components, with an empty line in place of their emulated version.
func (p Process) text() []byte {
	between := delimiters[rand.IntN(len(delimiters))]
	up := int64(time.Since(p.Started).Seconds())
	value := func(name, value string) string { return name + between + " " + html.EscapeString(value) + "\n" }
	return []byte(fmt.Sprintf("\n%s statusz\n%s\n", component, warning) +
		value("Started", p.Started.Format(time.UnixDate)) +
		value("Up", fmt.Sprintf("%d hr %02d min %02d sec", up/3600, up/60%60, up%60)) +
		value("Go version", goVersion()) + value("Binary version", p.Version) + "\n" +
		value("Paths", strings.Join(p.folders(), " ")))
}

// object returns an object of the requested kind. The kinds differ only in their version.
func (p Process) object(kind schema.GroupVersionKind) runtime.Object {
	status := v1beta1.Statusz{
		TypeMeta:   metav1.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{Name: component},
		StartTime:  metav1.Time{Time: p.Started}, UptimeSeconds: int64(time.Since(p.Started).Seconds()),
		GoVersion: goVersion(), BinaryVersion: p.Version,
		Paths: p.folders(),
	}
	if kind.Version == deprecated {
		old := v1alpha1.Statusz(status)
		return &old
	}
	return &status
}

// folders returns the first elements of the paths, without the paths of the API.
func (p Process) folders() []string {
	var all []string
	for _, path := range p.Paths {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if !slices.Contains([]string{"", "api", "apis", "openapi", "openid", ".well-known"}, first) {
			all = append(all, "/"+first)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return "unknown"
}
