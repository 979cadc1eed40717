{{- /* The labels of a workload: name, and component if there is one. */ -}}
{{- define "growth-export.labels" -}}
app.kubernetes.io/name: growth-export
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- /* What follows a failed pod: another, once it is gone, unless its exit code says that retrying does not help. */ -}}
{{- define "growth-export.failures" -}}
podReplacementPolicy: Failed
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes:
        containerName: growth-export
        operator: In
        values: {{ toJson .final }}
    - action: Ignore
      onPodConditions:
        - type: DisruptionTarget
          status: "True"
{{- end -}}

{{- /* The template of a pod. */ -}}
{{- define "growth-export.pod" -}}
{{- $secrets := ne .component "publish" -}}
metadata:
  labels:
    {{- include "growth-export.labels" . | nindent 4 }}
spec:
  restartPolicy: Never
  {{- with .Values.serviceAccount }}
  serviceAccountName: {{ . }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if eq .component "shard" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "growth-export.labels" . | nindent 10 }}
  {{- end }}
  containers:
    - name: growth-export
      image: {{ .Values.image }}
      command: [/bin/sh, /etc/growth-export/job.sh]
      args: {{ toJson .args }}
      env:
        {{- if $secrets }}
        - name: GROWTH_EXPORT_API_KEY_FILE
          value: /run/secrets/growth-export/api-key
        - name: GROWTH_EXPORT_API_SECRET_FILE
          value: /run/secrets/growth-export/api-secret
        {{- end }}
        - name: GROWTH_EXPORT_SCRATCH
          value: /scratch
        - name: GROWTH_EXPORT_LOG_FORMAT
          value: json
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources:
        {{- ternary .Values.resources .Values.publishResources $secrets | toYaml | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/growth-export
          readOnly: true
        {{- if $secrets }}
        - name: secrets
          mountPath: /run/secrets/growth-export
          readOnly: true
        {{- end }}
        {{- if .Values.claim }}
        - name: data
          mountPath: /var/lib/growth-export
        {{- end }}
        - name: scratch
          mountPath: /scratch
  volumes:
    - name: config
      configMap:
        name: {{ .Values.configMap }}
    {{- if $secrets }}
    - name: secrets
      secret:
        secretName: {{ .Values.secret }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.claim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ . }}
    {{- end }}
    - name: scratch
      emptyDir:
        sizeLimit: {{ .Values.scratch }}
{{- end -}}
