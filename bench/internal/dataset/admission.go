package dataset

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// admit adds the fields that kube-apiserver's admission plugins add to every pod: a priority, default tolerations, and
// a volume with the service account's token. No entry of managedFields owns these fields. The name of the volume is
// unique to the pod.
func admit(r *rand.Rand, spec *corev1.PodSpec) {
	spec.Priority, spec.PreemptionPolicy = new(int32), new(corev1.PreemptLowerPriority)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: new(int64(300)),
		})
	}
	volume := tokenVolume("kube-api-access-" + text(r, suffixLetters, 5))
	mount := corev1.VolumeMount{Name: volume.Name, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		ReadOnly: true}
	spec.Volumes = append(spec.Volumes, volume)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = append(containers[i].VolumeMounts, mount)
		}
	}
}

func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}
