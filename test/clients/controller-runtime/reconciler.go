package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	reader "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconciler brings the cluster to the state that an Application describes. Its client reads from the manager's cache.
type reconciler struct {
	reader.Client
	kinds []schema.GroupVersionKind
}

// Reconcile creates or scales the Deployment, and writes the status.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	application := &unstructured.Unstructured{}
	application.SetGroupVersionKind(applications)
	if err := r.Get(ctx, request.NamespacedName, application); err != nil {
		return reconcile.Result{}, reader.IgnoreNotFound(err)
	}
	deployment, err := r.deploy(ctx, application)
	if err != nil {
		return reconcile.Result{}, err
	}
	objects, err := r.objectsOf(ctx, application)
	if err != nil {
		return reconcile.Result{}, err
	}
	pods, _ := objects["Pod"].(int64)
	status := map[string]any{"ready": int64(deployment.Status.ReadyReplicas), "pods": pods, "objects": objects}
	if was, _, _ := unstructured.NestedMap(application.Object, "status"); fmt.Sprint(was) == fmt.Sprint(status) {
		return reconcile.Result{}, nil
	}
	application.Object["status"] = status
	return reconcile.Result{}, r.Status().Update(ctx, application)
}

// objectsOf returns the number of an Application's objects by kind, without the kinds that have none.
func (r *reconciler) objectsOf(ctx context.Context, application *unstructured.Unstructured) (map[string]any, error) {
	objects := map[string]any{}
	for _, kind := range r.kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := r.List(ctx, list, reader.InNamespace(application.GetNamespace()), reader.MatchingLabels{owner: application.GetName()})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		if n := len(list.Items); n > 0 {
			objects[kind.GroupKind().String()] = int64(n)
		}
	}
	return objects, nil
}

// deploy creates the Deployment of an Application, or changes its number of replicas.
func (r *reconciler) deploy(ctx context.Context, application *unstructured.Unstructured) (*appsv1.Deployment, error) {
	n, _, err := unstructured.NestedInt64(application.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	replicas, labels := int32(n), map[string]string{owner: application.GetName()}
	deployment := &appsv1.Deployment{}
	err = r.Get(ctx, reader.ObjectKeyFromObject(application), deployment)
	if err == nil && *deployment.Spec.Replicas != replicas {
		deployment.Spec.Replicas = &replicas
		return deployment, r.Update(ctx, deployment)
	}
	if !apierrors.IsNotFound(err) {
		return deployment, err
	}
	*deployment = appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: application.GetNamespace(), Name: application.GetName(), Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
			},
		},
	}
	if err := controllerutil.SetControllerReference(application, deployment, r.Scheme()); err != nil {
		return nil, err
	}
	return deployment, r.Create(ctx, deployment)
}
