{{- define "joiner.labels" -}}
app.kubernetes.io/name: joiner
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ regexReplaceAll "^[^A-Za-z0-9]+|[^A-Za-z0-9]+$" (.Values.image.tag | default .Chart.AppVersion | trunc 63) "" | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "joiner.selector" -}}
app.kubernetes.io/name: joiner
app.kubernetes.io/component: watcher
{{- end }}

{{- define "joiner.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Whether the watcher serves admission itself. */}}
{{- define "joiner.serves" -}}
{{- if and .Values.webhook.enabled (not .Values.webhook.url) }}yes{{ end -}}
{{- end }}

{{/* The Secret with the certificate. That of cert-manager has another name than Helm's, which goes when cert-manager's comes. */}}
{{- define "joiner.certificate" -}}
{{ .Values.webhook.secretName | default (ternary "joiner-webhook-issued" "joiner-webhook" .Values.webhook.certManager.enabled) }}
{{- end }}

{{/* Whether somebody else writes into the webhook's registration who signed the certificate. */}}
{{- define "joiner.injected" -}}
{{- $keys := keys .Values.webhook.annotations -}}
{{- if or .Values.webhook.certManager.enabled (has "cert-manager.io/inject-ca-from" $keys) (has "cert-manager.io/inject-ca-from-secret" $keys) }}yes{{ end -}}
{{- end }}

{{/* The groups that access entries, or the relay, give functions, and people who adopt. */}}
{{- define "joiner.groups" -}}
["joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt", "joiner:adopt"]
{{- end }}

{{/* What must be said, and what contradicts itself: one message that names every field, and where its value is found. */}}
{{- define "joiner.check" -}}
{{- $missing := list -}}
{{- $i := .Values.installation -}}
{{- if not .Values.cluster }}{{ $missing = append $missing "cluster (name of the EKS cluster)" }}{{ end -}}
{{- if not $i.table }}{{ $missing = append $missing "installation.table" }}{{ end -}}
{{- if not $i.bucket }}{{ $missing = append $missing "installation.bucket" }}{{ end -}}
{{- if not $i.queues.plan }}{{ $missing = append $missing "installation.queues.plan" }}{{ end -}}
{{- if not (.Values.region | default $i.region) }}{{ $missing = append $missing "region, or installation.region" }}{{ end -}}
{{- if $missing }}
{{- fail (printf "\nThese values are missing: %s.\nWhat is in installation is the JSON of the SSM parameter /joiner/installation of the region; `joiner attach %s` prints the whole command." (join "; " $missing) (.Values.cluster | default "CLUSTER")) }}
{{- end -}}
{{- if and .Values.relay.enabled (not .Values.relay.queueURL) }}{{ fail "\nrelay.enabled is true and relay.queueURL is empty; set it to the URL of the queue joiner-relay-CLUSTER, an output of the cluster's stack." }}{{ end -}}
{{- if and .Values.relay.enabled (not .Values.relay.senders) }}{{ fail "\nrelay.enabled is true and relay.senders is empty; name the unique id (AROA…) of each function's role: aws iam get-role --role-name NAME --query Role.RoleId." }}{{ end -}}
{{- if and (not .Values.relay.enabled) (or .Values.relay.queueURL .Values.relay.senders) }}{{ fail "\nrelay.queueURL or relay.senders is set and relay.enabled is false; set relay.enabled to true, or leave them out." }}{{ end -}}
{{- if and .Values.webhook.secretName (not .Values.webhook.caBundle) (include "joiner.serves" .) (not (include "joiner.injected" .)) }}{{ fail "\nwebhook.secretName is set and webhook.caBundle is empty; the API server trusts nobody by itself: set webhook.caBundle to the PEM of who signed the certificate, or webhook.annotations to what has it written in, such as cert-manager.io/inject-ca-from." }}{{ end -}}
{{- if and .Values.webhook.certManager.enabled .Values.webhook.caBundle }}{{ fail "\nwebhook.certManager.enabled is true and webhook.caBundle is set; cert-manager writes in who signed the certificate: leave webhook.caBundle out." }}{{ end -}}
{{- if and .Values.webhook.certManager.enabled (not (include "joiner.serves" .)) }}{{ fail "\nwebhook.certManager.enabled is true and the watcher does not answer for admission (webhook.enabled is false, or webhook.url is set); leave webhook.certManager out." }}{{ end -}}
{{- if and .Values.webhook.certManager.issuerRef (not .Values.webhook.certManager.issuerRef.name) }}{{ fail "\nwebhook.certManager.issuerRef has no name; name the issuer, or leave webhook.certManager.issuerRef out." }}{{ end -}}
{{- if and .Values.webhook.caBundle (not .Values.webhook.secretName) (not .Values.webhook.url) }}{{ fail "\nwebhook.caBundle is set without webhook.secretName or webhook.url; the chart makes a certificate of its own then: leave webhook.caBundle out, or name the Secret." }}{{ end -}}
{{- range $name, $_ := .Values.watcher.env }}
{{- if or (hasPrefix "JOINER_" $name) (eq $name "AWS_REGION") (eq $name "KUBECONFIG") }}{{ fail (printf "\nwatcher.env.%s: the chart sets what starts with JOINER_, AWS_REGION and KUBECONFIG; use the value made for it." $name) }}{{ end -}}
{{- end -}}
{{- end }}

{{/*
What is to be done about a Helm release that made the definitions before this one took them over. Its manifest lists them still, and Helm
uninstalls by that and not by who owns them now. The owner is read before this release writes itself down, so that it is reported when
definitions are taken over; joiner doctor finds it later, too.
*/}}
{{- define "joiner.trap" -}}
{{- $crd := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "nodepools.karpenter.sh" | default dict -}}
{{- $annotations := dig "metadata" "annotations" (dict) $crd -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and $release (or (ne $release .Release.Name) (ne $namespace .Release.Namespace)) -}}
WARNING: Helm release {{ $release }} in namespace {{ $namespace }} made the definition nodepools.karpenter.sh and lists it still, whoever owns it now.
`helm uninstall {{ $release }}` deletes the definitions, and with them every NodePool, NodeClaim and EC2NodeClass. Have Helm forget that release instead:
   kubectl delete secret -n {{ $namespace }} -l owner=helm,name={{ $release }}
{{- end -}}
{{- end }}

{{/* URL of the cluster's plan queue, named as its stack names it. */}}
{{- define "joiner.planQueue" -}}
{{- $name := .Values.cluster -}}
{{- if gt (len $name) 29 }}{{ $name = printf "%s-%s" (substr 0 20 $name) (substr 0 8 (sha256sum $name)) }}{{ end -}}
{{- .Values.installation.queues.plan | replace "CLUSTER" $name -}}
{{- end }}

{{/* The group of each sender: JSON, as the watcher reads it. */}}
{{- define "joiner.senders" -}}
{{- $groups := dict "provision" "joiner:functions" "interruption" "joiner:interruption" "catalog" "joiner:catalog" "disrupt" "joiner:disrupt" -}}
{{- $out := dict -}}
{{- range $id, $function := .Values.relay.senders }}{{ $_ := set $out $id (get $groups $function) }}{{ end -}}
{{- toJson $out -}}
{{- end }}

{{- /* A policy for requests of some groups. */}}
{{- define "joiner.policy.who" }}
    - name: ours
      expression: {{ printf "%s.exists(g, g in request.userInfo.groups)" .who | squote }}
{{- end }}
{{- define "joiner.policy.binding" }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "joiner.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [{{ .root.Values.policies.action }}]
{{- end }}
