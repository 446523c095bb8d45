{{- /*
The objects of deploy/kubernetes and deploy/monitoring, which are in the chart by symbolic links. Templates change the
objects by the values, so that each object has one source.
*/ -}}

{{- /* listfacade.text: the content of a file, for the release's namespace. Arguments: the root, and the file. */ -}}
{{- define "listfacade.text" -}}
{{- $root := index . 0 -}}
{{- $text := $root.Files.Get (index . 1) | required (printf "the chart has no file %s" (index . 1)) -}}
{{- $text | replace "listfacade-system" $root.Release.Namespace -}}
{{- end -}}

{{- /* listfacade.objects: all objects of a file, with the release's labels. Arguments: the root, and the file. */ -}}
{{- define "listfacade.objects" -}}
{{- $root := index . 0 -}}
{{- range regexSplit "(?m)^---$" (include "listfacade.text" .) -1 }}
{{- include "listfacade.object" (list $root (fromYaml .)) }}
{{- end }}
{{- end -}}

{{- /* listfacade.object: an object with the labels of the release. Arguments: the root, and the object. */ -}}
{{- define "listfacade.object" -}}
{{- $root := index . 0 -}}
{{- $object := index . 1 -}}
{{- with get $object "Error" }}{{ fail . }}{{ end -}}
{{- $labels := dict
  "app.kubernetes.io/name" "listfacade"
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $object.metadata "labels" (merge $labels (get $object.metadata "labels" | default dict)) }}
---
{{ toYaml $object }}
{{- end -}}

{{- /* listfacade.settings: the files of the ConfigMap as JSON, which the facade reads in the order of their names. */ -}}
{{- define "listfacade.settings" -}}
{{- $files := dict "10-base.yaml" (include "listfacade.text" (list . "kubernetes/base/10-base.yaml")) -}}
{{- $header := dict "apiVersion" "config.listfacade/v1alpha1" "kind" "ListFacadeConfiguration" -}}
{{- if .Values.certificate.secretName -}}
{{- $_ := set $files "50-certificate.yaml"
  (include "listfacade.text" (list . "kubernetes/overlays/certificate/50-certificate.yaml")) -}}
{{- else -}}
{{- $_ := set $files "50-authority.yaml"
  (include "listfacade.text" (list . "kubernetes/overlays/authority/50-authority.yaml")) -}}
{{- end -}}
{{- if .Values.impersonate.enabled -}}
{{- $_ := set $files "60-impersonate.yaml"
  (include "listfacade.text" (list . "kubernetes/overlays/impersonate/60-impersonate.yaml")) -}}
{{- end -}}
{{- if .Values.journal.enabled -}}
{{- $_ := set $files "70-journal.yaml"
  (include "listfacade.text" (list . "kubernetes/overlays/journal/70-journal.yaml")) -}}
{{- end -}}
{{- if .Values.preload -}}
{{- $preload := dict "preload" .Values.preload "preloadEncodings" .Values.preloadEncodings -}}
{{- $_ := set $files "80-preload.yaml" (toYaml (merge $preload $header)) -}}
{{- end -}}
{{- if .Values.config -}}
{{- $_ := set $files "90-config.yaml" (toYaml (merge (deepCopy .Values.config) $header)) -}}
{{- end -}}
{{ toJson $files }}
{{- end -}}

{{- define "listfacade.image" -}}
{{- with .Values.image -}}
{{- if .registry }}{{ .registry }}/{{ end }}{{ .name }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* listfacade.mebibytes: the memory of a replica in Mi. */ -}}
{{- define "listfacade.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" .Values.memory | int64 -}}
{{- if hasSuffix "Gi" .Values.memory }}{{ mul $number 1024 }}{{ else }}{{ $number }}{{ end }}
{{- end -}}
