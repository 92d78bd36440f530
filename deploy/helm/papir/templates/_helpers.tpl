{{/* Name of all objects: the release's, with the chart's unless it already has it. */}}
{{- define "papir.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}{{- $name = printf "%s-%s" $name .Chart.Name -}}{{- end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "papir.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "papir.labels" -}}
{{ include "papir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* "true" if a database comes from an object store. */}}
{{- define "papir.remote" -}}
{{- range .Values.databases }}{{ if contains "://" .path }}true{{ end }}{{ end -}}
{{- end -}}

{{/* "true" if a database comes from the volume of snapshots. */}}
{{- define "papir.local" -}}
{{- range .Values.databases }}{{ if not (contains "://" .path) }}true{{ end }}{{ end -}}
{{- end -}}

{{/* Refuses values that would make a service that cannot work. */}}
{{- define "papir.check" -}}
{{- if and (include "papir.local" .) (not .Values.snapshots.claim) -}}
{{- fail "a database has a path, but snapshots.claim names no volume claim" -}}
{{- end -}}
{{- if and .Values.registry.enabled (gt (int .Values.replicas) 1) (ne .Values.service.sessionAffinity "ClientIP") -}}
{{- fail "registered clients need service.sessionAffinity ClientIP, a single replica, or postgres.address" -}}
{{- end -}}
{{- if and .Values.registry.enabled .Values.postgres.address -}}
{{- fail "registered clients are in a volume (registry.enabled) or in PostgreSQL (postgres.address), not in both" -}}
{{- end -}}
{{- end -}}

{{/* The configuration file. TOML reads JSON's strings, numbers, booleans and lists. */}}
{{- define "papir.toml" -}}
listen = "0.0.0.0:7470"
{{- if .Values.tls.secret }}
tls-cert = "/etc/papir/tls/tls.crt"
tls-key = "/etc/papir/tls/tls.key"
{{- end }}
{{- if .Values.tokens.secret }}
tokens = "/etc/papir/tokens/tokens.toml"
{{- end }}
{{- if .Values.registry.enabled }}
registry = "/var/lib/papir"
{{- end }}
{{- with .Values.postgres.address }}
registry = {{ toJson . }}
{{- end }}
{{- if include "papir.remote" . }}
cache = "/var/cache/papir"
{{- end }}
{{- range $key, $value := .Values.config }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- $folder := .Values.snapshots.mountPath }}
{{- range .Values.databases }}

[[database]]
path = {{ ternary .path (printf "%s/%s" $folder .path) (contains "://" .path) | toJson }}
{{- with .name }}
name = {{ toJson . }}
{{- end }}
{{- end }}
{{ end -}}

{{/* A claim for one replica's volume, from `name` and the values of `volume`. */}}
{{- define "papir.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .name }}
spec:
  accessModes: [ReadWriteOnce]
  {{- with .volume.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ .volume.size }}
{{- end -}}
