// Package dump writes large clusters for tests and benchmarks, the way kubectl prints them.
//
//	err := dump.Write(file, 1000, 10000)
package dump

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
)

// Write writes what `kubectl get nodes,pods,… -A -o json` prints of a cluster: nodes with their images and conditions,
// pods with environment, probes, volumes and status, four spaces of indentation. Of ten pods nine run, one waits.
func Write(w io.Writer, nodes, pods int) error {
	random := rand.New(rand.NewPCG(1, 2))
	out := &bytes.Buffer{}
	out.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")
	out.WriteString(pool)
	for i := range nodes {
		out.WriteString(",\n")
		writeNode(out, i)
		if err := flush(w, out); err != nil {
			return err
		}
	}
	for i := range pods {
		out.WriteString(",\n")
		writePod(out, i, nodes, random)
		if err := flush(w, out); err != nil {
			return err
		}
	}
	out.WriteString("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
	return flush(w, out)
}

func flush(w io.Writer, out *bytes.Buffer) error {
	_, err := out.WriteTo(w)
	return err
}

const pool = `        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "default", "uid": "pool-default", "generation": 1},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]
            }}}
        },
        {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "default", "uid": "class-default", "generation": 1},
            "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "node",
                "subnetSelectorTerms": [{"tags": {"a": "b"}}], "securityGroupSelectorTerms": [{"tags": {"a": "b"}}]}
        }`

func writeNode(out *bytes.Buffer, i int) {
	zone := "us-west-2" + string(rune('a'+i%3))
	fmt.Fprintf(out, `        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "annotations": {
                    "csi.volume.kubernetes.io/nodeid": "{\"ebs.csi.aws.com\":\"i-%017x\"}",
                    "node.alpha.kubernetes.io/ttl": "0",
                    "volumes.kubernetes.io/controller-managed-attach-detach": "true"
                },
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "labels": {
                    "beta.kubernetes.io/arch": "amd64",
                    "beta.kubernetes.io/instance-type": "m7i.4xlarge",
                    "beta.kubernetes.io/os": "linux",
                    "failure-domain.beta.kubernetes.io/region": "us-west-2",
                    "failure-domain.beta.kubernetes.io/zone": "%s",
                    "karpenter.k8s.aws/instance-family": "m7i",
                    "karpenter.sh/capacity-type": "on-demand",
                    "karpenter.sh/initialized": "true",
                    "karpenter.sh/nodepool": "default",
                    "karpenter.sh/registered": "true",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": "ip-10-0-%d-%d.us-west-2.compute.internal",
                    "kubernetes.io/os": "linux",
                    "node.kubernetes.io/instance-type": "m7i.4xlarge",
                    "topology.kubernetes.io/region": "us-west-2",
                    "topology.kubernetes.io/zone": "%s"
                },
                "name": "ip-10-0-%d-%d.us-west-2.compute.internal",
                "resourceVersion": "12345678",
                "uid": "node-%d"
            },
            "spec": {
                "providerID": "aws:///%s/i-%017x"
            },
            "status": {
                "addresses": [
                    {
                        "address": "10.0.%d.%d",
                        "type": "InternalIP"
                    }
                ],
                "allocatable": {
                    "cpu": "15890m",
                    "ephemeral-storage": "18242267924",
                    "hugepages-1Gi": "0",
                    "hugepages-2Mi": "0",
                    "memory": "60963540Ki",
                    "pods": "234"
                },
                "capacity": {
                    "cpu": "16",
                    "ephemeral-storage": "20893676Ki",
                    "hugepages-1Gi": "0",
                    "hugepages-2Mi": "0",
                    "memory": "63980244Ki",
                    "pods": "234"
                },
                "conditions": [
`, i, zone, i/256, i%256, zone, i/256, i%256, i, zone, i, i/256, i%256)
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		status, comma := "False", ","
		if kind == "Ready" {
			status, comma = "True", ""
		}
		fmt.Fprintf(out, `                    {
                        "lastHeartbeatTime": "2026-01-02T03:04:05Z",
                        "lastTransitionTime": "2026-01-02T03:04:05Z",
                        "message": "kubelet has said something about %s at some length",
                        "reason": "KubeletHas",
                        "status": "%s",
                        "type": "%s"
                    }%s
`, kind, status, kind, comma)
	}
	out.WriteString("                ],\n                \"images\": [\n")
	for k := range 30 {
		comma := ","
		if k == 29 {
			comma = ""
		}
		fmt.Fprintf(out, `                    {
                        "names": [
                            "registry.example/team/service-%d@sha256:%064x",
                            "registry.example/team/service-%d:v1.2.3"
                        ],
                        "sizeBytes": %d
                    }%s
`, k, k*i, k, 1000000+k, comma)
	}
	out.WriteString(`                ],
                "nodeInfo": {
                    "architecture": "amd64",
                    "bootID": "boot",
                    "containerRuntimeVersion": "containerd://2.1.0",
                    "kernelVersion": "6.12",
                    "kubeletVersion": "v1.36.0",
                    "operatingSystem": "linux"
                }
            }
        }`)
}

func writePod(out *bytes.Buffer, i, nodes int, random *rand.Rand) {
	service := random.IntN(200)
	node, phase, scheduled := fmt.Sprintf("ip-10-0-%d-%d.us-west-2.compute.internal", i%nodes/256, i%nodes%256), "Running", "True"
	condition := ""
	if i%10 == 9 {
		node, phase, scheduled = "", "Pending", "False"
		condition = `
                        "message": "0/1000 nodes are available: 1000 Insufficient cpu.",
                        "reason": "Unschedulable",`
	}
	nodeName := ""
	if node != "" {
		nodeName = fmt.Sprintf("\n                \"nodeName\": %q,", node)
	}
	fmt.Fprintf(out, `        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "annotations": {
                    "prometheus.io/port": "8080",
                    "prometheus.io/scrape": "true"
                },
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "generateName": "service-%[1]d-5d4f8c7b9f-",
                "labels": {
                    "app": "service-%[1]d",
                    "pod-template-hash": "5d4f8c7b9f",
                    "team": "team-%[2]d"
                },
                "name": "service-%[1]d-5d4f8c7b9f-%[3]d",
                "namespace": "team-%[2]d",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "blockOwnerDeletion": true,
                        "controller": true,
                        "kind": "ReplicaSet",
                        "name": "service-%[1]d-5d4f8c7b9f",
                        "uid": "11111111-2222-3333-4444-%012[1]d"
                    }
                ],
                "resourceVersion": "123456789",
                "uid": "pod-%[3]d"
            },
            "spec": {
                "containers": [
                    {
                        "env": [
`, service, service%10, i)
	for k := range 12 {
		comma := ","
		if k == 11 {
			comma = ""
		}
		fmt.Fprintf(out, `                            {
                                "name": "SETTING_%d",
                                "value": "some value that is neither short nor long %d"
                            }%s
`, k, i, comma)
	}
	fmt.Fprintf(out, `                        ],
                        "image": "registry.example/team/service-%[1]d:v1.2.3",
                        "imagePullPolicy": "IfNotPresent",
                        "livenessProbe": {
                            "failureThreshold": 3,
                            "httpGet": {
                                "path": "/healthz",
                                "port": 8080,
                                "scheme": "HTTP"
                            },
                            "periodSeconds": 10,
                            "successThreshold": 1,
                            "timeoutSeconds": 1
                        },
                        "name": "main",
                        "ports": [
                            {
                                "containerPort": 8080,
                                "name": "http",
                                "protocol": "TCP"
                            }
                        ],
                        "resources": {
                            "limits": {
                                "memory": "%[2]dMi"
                            },
                            "requests": {
                                "cpu": "%[3]dm",
                                "memory": "%[2]dMi"
                            }
                        },
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "volumeMounts": [
                            {
                                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                                "name": "kube-api-access",
                                "readOnly": true
                            }
                        ]
                    }
                ],
                "dnsPolicy": "ClusterFirst",
                "enableServiceLinks": true,%[4]s
                "preemptionPolicy": "PreemptLowerPriority",
                "priority": 0,
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "securityContext": {},
                "serviceAccount": "default",
                "serviceAccountName": "default",
                "terminationGracePeriodSeconds": 30,
                "tolerations": [
                    {
                        "effect": "NoExecute",
                        "key": "node.kubernetes.io/not-ready",
                        "operator": "Exists",
                        "tolerationSeconds": 300
                    },
                    {
                        "effect": "NoExecute",
                        "key": "node.kubernetes.io/unreachable",
                        "operator": "Exists",
                        "tolerationSeconds": 300
                    }
                ],
                "volumes": [
                    {
                        "name": "kube-api-access",
                        "projected": {
                            "defaultMode": 420,
                            "sources": [
                                {
                                    "serviceAccountToken": {
                                        "expirationSeconds": 3607,
                                        "path": "token"
                                    }
                                },
                                {
                                    "configMap": {
                                        "items": [
                                            {
                                                "key": "ca.crt",
                                                "path": "ca.crt"
                                            }
                                        ],
                                        "name": "kube-root-ca.crt"
                                    }
                                }
                            ]
                        }
                    }
                ]
            },
            "status": {
                "conditions": [
                    {
                        "lastProbeTime": null,
                        "lastTransitionTime": "2026-01-02T03:04:05Z",%[5]s
                        "status": "%[6]s",
                        "type": "PodScheduled"
                    }
                ],
                "containerStatuses": [
                    {
                        "containerID": "containerd://%064[1]x",
                        "image": "registry.example/team/service-%[1]d:v1.2.3",
                        "imageID": "registry.example/team/service-%[1]d@sha256:%064[1]x",
                        "lastState": {},
                        "name": "main",
                        "ready": true,
                        "restartCount": 0,
                        "started": true,
                        "state": {
                            "running": {
                                "startedAt": "2026-01-02T03:04:05Z"
                            }
                        }
                    }
                ],
                "hostIP": "10.0.0.1",
                "phase": "%[7]s",
                "podIP": "10.0.1.1",
                "qosClass": "Burstable",
                "startTime": "2026-01-02T03:04:05Z"
            }
        }`, service, 128*(1+service%8), 50*(1+service%16), nodeName, condition, scheduled, phase)
}
