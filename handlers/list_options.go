package handlers

import (
	"context"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/selectors"
)

// readOptions decodes, defaults and validates list options. The order of these steps decides which of several errors is
// returned. All errors are kube-apiserver's (semantics 1.2). selectBy checks the selectors, because they depend on the
// kind.
func readOptions(verb string, query url.Values) (metainternalversion.ListOptions, error) {
	var options metainternalversion.ListOptions
	if verb == verbGet {
		return options, checkGet(query)
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion,
		&options); err != nil {
		return options, badRequest(err.Error())
	}
	metainternalversion.SetListOptionsDefaults(&options, true)
	if errs := validation.ValidateListOptions(&options, true); len(errs) > 0 {
		return options, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return options, nil
}

// checkGet returns kube-apiserver's errors for the query of a get (semantics 3).
func checkGet(query url.Values) error {
	if export := query.Get("export"); export != "" && export != "false" {
		return badRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}

// selectable returns the route to the upstream if the upstream does not support one of the selected fields, or if this
// is unknown. The facade has a list of the fields of built-in kinds in one release, but the upstream may have another
// release.
func (s *Server) selectable(ctx context.Context, q *Request, kind *selectors.Kind) route {
	for _, label := range kind.Later(q.Options.FieldSelector) {
		selects, err := s.fields.Selects(ctx, q.resource, label)
		switch {
		case err != nil:
			return forwardFor(observe.Undiscovered)
		case !selects:
			return forwardFor(observe.OwnWords)
		}
	}
	return route{}
}

// selectBy compiles the selectors of a list or watch for its kind, in kube-apiserver's order. Its errors are
// kube-apiserver's (semantics 5.3, 5.5, 5.6).
func (q *Request) selectBy(kind *selectors.Kind) error {
	var err error
	if q.Options.FieldSelector, err = kind.ConvertFields(q.Options.FieldSelector); err != nil {
		return badRequest(err.Error())
	}
	if q.Name != "" {
		if q.Options.FieldSelector, err = selectors.PinName(q.Options.FieldSelector, q.Name); err != nil {
			return badRequest(err.Error())
		}
	}
	shards, err := selectors.ParseShards(q.Options.ShardSelector)
	if err != nil {
		return &invalidShardsError{cause: err}
	}
	q.Predicate = kind.Predicate(q.Namespace, q.Options.LabelSelector, q.Options.FieldSelector).Within(shards)
	return nil
}
