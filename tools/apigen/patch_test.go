package main

import (
	"strings"
	"testing"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodeclaims.karpenter.sh, creationTimestamp: null}
spec:
  group: karpenter.sh
  scope: Cluster
  names: {kind: NodeClaim, plural: nodeclaims}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              TAINTS:
                type: array
                items:
                  type: object
                  properties: {key: {type: string}, value: {type: string}, effect: {type: string}}
          status:
            type: object
            properties:
              conditions:
                type: array
                items:
                  type: object
                  required: [lastTransitionTime, message, reason, status, type]
                  properties: {reason: {type: string, minLength: 1, pattern: "^[A-Z]+$"}}
`

func TestPatchSaysWhatMarkersCannot(t *testing.T) {
	patched, err := patch([]byte(strings.ReplaceAll(definition, "TAINTS", "taints")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- PreferNoSchedule\n", "pattern: ^([A-Z]+)?$", "minLength: 1"} {
		if !strings.Contains(string(patched), want) {
			t.Errorf("no %q in\n%s", want, patched)
		}
	}
	for _, unwanted := range []string{"- reason\n", "- message\n", "creationTimestamp", "storedVersions"} {
		if strings.Contains(string(patched), unwanted) {
			t.Errorf("%q is still in\n%s", unwanted, patched)
		}
	}
}

func TestPatchFailsWhereARuleGuardsNothing(t *testing.T) {
	if patched, err := patch([]byte(strings.ReplaceAll(definition, "TAINTS", "stains"))); err == nil {
		t.Errorf("no error for a definition without taints:\n%s", patched)
	}
}
