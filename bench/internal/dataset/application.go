package dataset

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	domains = []string{"checkout", "billing", "search", "catalog", "shipping", "identity", "ledger", "media", "pricing",
		"session",
		"telemetry", "inventory", "recommend", "gateway", "notify", "archive", "fraud", "loyalty", "routing", "tariff"}
	roles = []string{"api", "worker", "consumer", "scheduler", "frontend", "indexer", "sync", "exporter", "cache",
		"proxy"}
	stages   = []string{"production", "staging", "canary"}
	settings = []string{"DATABASE_URL", "CACHE_ADDRESS", "QUEUE_TOPIC", "FEATURE_FLAGS", "REQUEST_TIMEOUT",
		"MAX_CONNECTIONS",
		"OBJECT_STORE"}
)

// application is the common part of the pods of one ReplicaSet. The method pod returns copies of the template, never
// the template itself.
type application struct {
	name     string
	hash     string // of the pod template
	template *corev1.Pod
	digests  []string // of the images, by container
	owned    string   // field set of the template; rendered once, because it is most of the cost of a pod
}

func newApplication(r *rand.Rand, namespace string, number int) *application {
	a := &application{
		name: fmt.Sprintf("%s-%s-%d", pick(r, domains), pick(r, roles), number),
		hash: text(r, suffixLetters, 10),
	}
	for range 3 {
		a.digests = append(a.digests, text(r, hexDigits, 64))
	}
	a.template = &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: a.metadata(r, namespace),
		Spec:       a.spec(r),
	}
	a.owned = templateSet(a.template)
	return a
}

func (a *application) metadata(r *rand.Rand, namespace string) metav1.ObjectMeta {
	controller := true
	return metav1.ObjectMeta{
		GenerateName: a.name + "-" + a.hash + "-",
		Namespace:    namespace,
		Labels: map[string]string{
			"app.kubernetes.io/name":       a.name,
			"app.kubernetes.io/instance":   a.name + "-" + pick(r, stages),
			"app.kubernetes.io/version":    fmt.Sprintf("%d.%d.%d", r.IntN(9), r.IntN(30), r.IntN(99)),
			"app.kubernetes.io/component":  pick(r, roles),
			"app.kubernetes.io/part-of":    pick(r, domains),
			"app.kubernetes.io/managed-by": "Helm",
			"pod-template-hash":            a.hash,
		},
		Annotations: map[string]string{
			"checksum/config":                   text(r, hexDigits, 64),
			"prometheus.io/scrape":              "true",
			"checksum/secret":                   text(r, hexDigits, 64),
			"deploy.example.com/revision":       text(r, hexDigits, 40),
			"kubectl.kubernetes.io/restartedAt": ago(r, 60).Format("2006-01-02T15:04:05Z07:00"),
			"owner.example.com/contact":         fmt.Sprintf("#team-%s, +49 30 %07d", pick(r, domains), r.IntN(1e7)),
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: a.name + "-" + a.hash, UID: uid(r),
			Controller: &controller, BlockOwnerDeletion: &controller,
		}},
	}
}

// environment returns the environment variables of the application: the common settings, and up to six others.
func (a *application) environment(r *rand.Rand) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
		{Name: "POD_IP", ValueFrom: fieldRef("status.podIP")},
		{Name: "NODE_NAME", ValueFrom: fieldRef("spec.nodeName")},
		{Name: "API_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-tokens"}, Key: "token"}}},
	}
	for _, name := range settings {
		value := fmt.Sprintf("%s-%s.%s.svc.cluster.local:%d", pick(r, domains), pick(r, roles), pick(r, stages),
			1024+r.IntN(60000))
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	for i := range r.IntN(7) {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("EXTRA_%s_%d", text(r, "ABCDEFGH", 4), i),
			Value: text(r, hexDigits, 8+r.IntN(53))})
	}
	return env
}

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}
