package dataset

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod returns a new pod of the application, running on a node.
func (a *application) pod(r *rand.Rand, node string) *corev1.Pod {
	p := a.template.DeepCopy()
	suffix := text(r, suffixLetters, 5)
	p.Name = p.GenerateName + suffix
	p.UID = uid(r)
	p.CreationTimestamp = ago(r, 20)
	p.Generation = 1
	p.Spec.NodeName = node
	admit(r, &p.Spec)
	a.run(r, p)
	p.Annotations["network.example.com/status"] = fmt.Sprintf(`[{"name":"mesh","interface":"eth0","ips":[%q],"link":"veth%s","default":true}]`,
		p.Status.PodIP, text(r, hexDigits, 8))
	p.ManagedFields = a.managers(r, p)
	if r.IntN(RareOneIn) == 0 {
		mark(r, p)
	}
	return p
}

// mark adds RareLabel, as if a user had set it with "kubectl label".
func mark(r *rand.Rand, p *corev1.Pod) {
	p.Labels[RareLabel] = RareValue
	fields := fmt.Sprintf(`{"f:metadata":{"f:labels":{%q:{}}}}`, "f:"+RareLabel)
	p.ManagedFields = append(p.ManagedFields, entry("kubectl-label", "", after(r, p.CreationTimestamp, 1000), fields))
}

// run fills the status as the kubelet does once all containers are running.
func (a *application) run(r *rand.Rand, p *corev1.Pod) {
	scheduled := p.CreationTimestamp
	initialized := after(r, scheduled, 20)
	ready := after(r, initialized, 60)
	p.Status = corev1.PodStatus{
		ObservedGeneration: 1,
		Phase:              corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, initialized), condition(corev1.PodInitialized, initialized),
			condition(corev1.PodReady, ready), condition(corev1.ContainersReady, ready),
			condition(corev1.PodScheduled, scheduled),
		},
		PodIP:                 fmt.Sprintf("10.%d.%d.%d", 64+r.IntN(64), r.IntN(256), 1+r.IntN(254)),
		HostIP:                fmt.Sprintf("172.16.%d.%d", r.IntN(256), 1+r.IntN(254)),
		StartTime:             &scheduled,
		QOSClass:              corev1.PodQOSBurstable,
		InitContainerStatuses: []corev1.ContainerStatus{a.finished(r, p.Spec.InitContainers[0], initialized)},
	}
	for i, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, a.running(r, c, a.digests[i], ready))
	}
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.HostIPs = []corev1.HostIP{{IP: p.Status.HostIP}}
}

func condition(kind corev1.PodConditionType, since metav1.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since, ObservedGeneration: 1}
}

// running returns the status of a running container. One of ten was restarted after a crash.
func (a *application) running(r *rand.Rand, c corev1.Container, digest string,
	since metav1.Time) corev1.ContainerStatus {
	started := true
	status := corev1.ContainerStatus{
		Name: c.Name, Ready: true, Started: &started, Image: c.Image,
		ImageID:     "registry.example.com/" + c.Name + "@sha256:" + digest,
		ContainerID: "containerd://" + text(r, hexDigits, 64),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
	}
	if r.IntN(10) == 0 {
		status.RestartCount = int32(1 + r.IntN(5))
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", StartedAt: ago(r, 40), FinishedAt: since,
			ContainerID: "containerd://" + text(r, hexDigits, 64),
		}
	}
	return status
}

func (a *application) finished(r *rand.Rand, c corev1.Container, at metav1.Time) corev1.ContainerStatus {
	started := false
	id := "containerd://" + text(r, hexDigits, 64)
	return corev1.ContainerStatus{
		Name: c.Name, Ready: true, Started: &started, Image: c.Image,
		ImageID:     "registry.example.com/" + c.Name + "@sha256:" + a.digests[2],
		ContainerID: id,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: at, FinishedAt: at, ContainerID: id,
		}},
	}
}
