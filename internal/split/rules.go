package split

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var rulesType = metav1.TypeMeta{APIVersion: "config.listfacade/v1alpha1", Kind: "SplitRules"}

// Rules are an operator's choices about requests that a facade could answer. Immutable.
type Rules struct {
	// Gets is the target of reads of single objects.
	Gets Target
	// Resources are names of resources that kube-apiserver answers, such as deployments.apps.
	Resources []string
	// Groups are API groups that kube-apiserver answers. A name that begins with "*." stands for all groups below it.
	Groups []string
}

// DefaultRules returns the rules that apply without --rules. Facades do not cache Secrets. A holder of a lease must be
// able to read it while no facade is ready, because the lease protects the holder's writes. Other servers answer the
// groups of metrics.
func DefaultRules() Rules {
	return Rules{
		Gets: Facade, Resources: []string{"secrets", "leases.coordination.k8s.io"},
		Groups: []string{"metrics.k8s.io", "*.metrics.k8s.io"},
	}
}

// names reports whether the rules send a resource to kube-apiserver.
func (rules Rules) names(group, resource string) bool {
	if slices.Contains(rules.Resources, strings.TrimSuffix(resource+"."+group, ".")) {
		return true
	}
	return slices.ContainsFunc(rules.Groups, func(name string) bool {
		below, isPattern := strings.CutPrefix(name, "*")
		return name == group || isPattern && strings.HasSuffix(group, below)
	})
}

const (
	keyGets      = "gets"
	keyResources = "kubeAPIServerResources"
	keyGroups    = "kubeAPIServerGroups"
)

// ReadRules reads a file with rules. Each key replaces its default. Unknown keys, and keys that occur twice, are
// errors.
func ReadRules(file string) (Rules, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Rules{}, fmt.Errorf("--rules: %w", err)
	}
	rules, err := parseRules(text)
	if err != nil {
		return Rules{}, fmt.Errorf("--rules %s: %w", file, err)
	}
	return rules, nil
}

func parseRules(text []byte) (Rules, error) {
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Rules{}, err
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &keys); err != nil {
		return Rules{}, errors.New("content must be a YAML mapping of keys to values")
	}
	var is metav1.TypeMeta
	if err := json.Unmarshal(object, &is); err != nil || is != rulesType {
		return Rules{}, fmt.Errorf("got apiVersion %q and kind %q, want %s and %s", is.APIVersion, is.Kind,
			rulesType.APIVersion, rulesType.Kind)
	}
	delete(keys, "apiVersion")
	delete(keys, "kind")
	rules := DefaultRules()
	for _, key := range slices.Sorted(maps.Keys(keys)) { // sorted, so that the first error is always the same
		if err := rules.set(key, keys[key]); err != nil {
			return Rules{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	return rules, nil
}

func (rules *Rules) set(key string, value json.RawMessage) error {
	switch key {
	case keyGets:
		if err := json.Unmarshal(value, &rules.Gets); err != nil || rules.Gets != Facade && rules.Gets != KubeAPIServer {
			return fmt.Errorf("value must be %s or %s", Facade, KubeAPIServer)
		}
		return nil
	case keyResources:
		return setNames(&rules.Resources, value, "resources, such as deployments.apps")
	case keyGroups:
		return setNames(&rules.Groups, value, `API groups, such as apps or "*.example.com"`)
	}
	return fmt.Errorf("unknown key; the keys are %s, %s and %s: correct it or remove it", keyGets, keyResources, keyGroups)
}

// setNames sets a list of names in lower case. A name with other characters cannot match any request.
func setNames(list *[]string, value json.RawMessage, of string) error {
	var names []string
	if err := json.Unmarshal(value, &names); err != nil {
		return fmt.Errorf("value must be a list of %s", of)
	}
	for _, name := range names {
		if name == "" || strings.Trim(strings.TrimPrefix(name, "*."), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			return fmt.Errorf("%q: value must be a list of %s, in lower case", name, of)
		}
	}
	*list = names
	return nil
}
