package dataset

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// spec returns a pod template's spec, with the defaults of the API.
func (a *application) spec(r *rand.Rand) corev1.PodSpec {
	grace, links := int64(30+r.IntN(60)), true
	return corev1.PodSpec{
		Volumes:                       a.volumes(),
		InitContainers:                []corev1.Container{a.migrate(r)},
		Containers:                    []corev1.Container{a.main(r), a.sidecar(r)},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: &grace,
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            a.name,
		DeprecatedServiceAccount:      a.name,
		SecurityContext:               &corev1.PodSecurityContext{FSGroup: new(int64(1000 + r.IntN(9000)))},
		ImagePullSecrets:              []corev1.LocalObjectReference{{Name: "registry-" + text(r, suffixLetters, 5)}},
		SchedulerName:                 "default-scheduler",
		EnableServiceLinks:            &links,
	}
}

func (a *application) volumes() []corev1.Volume {
	mode := int32(0o644)
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-config"}, DefaultMode: &mode}}},
		{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: a.name + "-tls",
			DefaultMode: &mode}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}

func (a *application) mounts() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/" + a.name, ReadOnly: true},
		{Name: "tls", MountPath: "/etc/tls", ReadOnly: true},
		{Name: "scratch", MountPath: "/var/run/scratch"},
	}
}

func (a *application) main(r *rand.Rand) corev1.Container {
	return corev1.Container{
		Name:    a.name,
		Image:   "registry.example.com/" + a.name + ":" + text(r, hexDigits, 12),
		Command: []string{"/usr/local/bin/" + a.name},
		Args: []string{"--config=/etc/" + a.name + "/config.yaml", "--listen=:8080",
			fmt.Sprintf("--workers=%d", 1+r.IntN(64))},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: 9102, Protocol: corev1.ProtocolTCP},
		},
		Env: a.environment(r),
		Resources: corev1.ResourceRequirements{
			Limits:   quantities(fmt.Sprintf("%d", 1+r.IntN(8)), fmt.Sprintf("%dMi", 512+64*r.IntN(64))),
			Requests: quantities(fmt.Sprintf("%dm", 50*(1+r.IntN(20))), fmt.Sprintf("%dMi", 64*(1+r.IntN(8)))),
		},
		VolumeMounts:   a.mounts(),
		LivenessProbe:  probe("/livez", 8080, int32(10+r.IntN(20))),
		ReadinessProbe: probe("/readyz", 8080, int32(5+r.IntN(5))),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}},
		}},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		SecurityContext:          restricted(),
	}
}

func (a *application) sidecar(r *rand.Rand) corev1.Container {
	return corev1.Container{
		Name:  "mesh-proxy",
		Image: fmt.Sprintf("registry.example.com/mesh/proxy:1.%d.%d", 20+r.IntN(3), r.IntN(10)),
		Args: []string{"proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--log-level=warning",
			"--concurrency=2"},
		Ports: []corev1.ContainerPort{{Name: "mesh-admin", ContainerPort: 15090, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "POD_NAMESPACE", ValueFrom: fieldRef("metadata.namespace")},
			{Name: "MESH_WORKLOAD", Value: a.name},
			{Name: "MESH_ID", Value: "mesh-" + text(r, hexDigits, 16)},
		},
		Resources: corev1.ResourceRequirements{Limits: quantities("2", "1Gi"), Requests: quantities("100m", "128Mi")},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "tls", MountPath: "/etc/mesh/tls", ReadOnly: true},
		},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		SecurityContext:          restricted(),
	}
}

func (a *application) migrate(r *rand.Rand) corev1.Container {
	return corev1.Container{
		Name:  "migrate",
		Image: "registry.example.com/" + a.name + "-migrate:" + text(r, hexDigits, 12),
		Args:  []string{"up", "--lock-timeout=30s"},
		EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-database"},
		}}},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory)}
}

func probe(path string, port, every int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP,
		}},
		TimeoutSeconds: 3, PeriodSeconds: every, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, RunAsNonRoot: new(true),
		ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
	}
}
