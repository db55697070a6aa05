package main

import (
	"path/filepath"
	"text/template"

	"github.com/joiner-sh/joiner/testenv/test/console"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// invite says what to try next.
func (s *story) invite(st *stack.Stack) {
	s.flush()
	if err := invitation.Execute(s.out, placeOf(st)); err != nil {
		s.say("what to try next cannot be printed: %v", err)
	}
}

// place is where everything of a run is.
type place struct {
	Kubeconfig string `json:"kubeconfig"` // a path, as kubectl, joiner and logs
	Kubectl    string `json:"kubectl"`
	Joiner     string `json:"joiner"`
	Endpoint   string `json:"endpoint"` // URL of the model of AWS
	Account    string `json:"account"`
	Region     string `json:"region"`
	AccessKey  string `json:"accessKey"` // of the account's root
	SecretKey  string `json:"secretKey"`
	Cluster    string `json:"cluster"`
	APIServer  string `json:"apiServer"` // URL
	Notices    string `json:"notices"`   // URL of the queue of what EventBridge tells
	Table      string `json:"table"`     // the ledger's name
	Logs       string `json:"logs"`      // the folder of all logs
	Audit      string `json:"audit"`     // the API server's audit log, with -audit
}

func placeOf(st *stack.Stack) place {
	return place{
		Kubeconfig: st.Kube.KubeconfigPath(), Kubectl: st.Kube.Assets().Kubectl, Joiner: console.Program(),
		Endpoint: st.Cloud.Endpoint(), Account: st.Cloud.Account(), Region: st.Cloud.Region(),
		AccessKey: accessKey, SecretKey: secretKey, Cluster: st.Cluster.Name, APIServer: st.Kube.Endpoint(),
		Notices: st.NoticesURL, Table: st.Table, Logs: filepath.Join(st.Dir(), "logs"), Audit: st.Kube.AuditLogPath(),
	}
}

// invitation is pasted into a shell: each line that begins with blanks is a command. The AWS CLI needs the endpoint of
// SQS as a flag: by the variable alone some releases call the address that the queue's URL has.
var invitation = template.Must(template.New("invitation").Option("missingkey=error").Parse(`
It runs until Ctrl-C. Paste these lines into another terminal first:

  export KUBECONFIG='{{.Kubeconfig}}'
  export AWS_ENDPOINT_URL={{.Endpoint}} AWS_REGION={{.Region}} AWS_DEFAULT_REGION={{.Region}}
  export AWS_ACCESS_KEY_ID={{.AccessKey}} AWS_SECRET_ACCESS_KEY={{.SecretKey}}
  unset AWS_PROFILE AWS_SESSION_TOKEN
  alias kubectl='"{{.Kubectl}}"' joiner='"{{.Joiner}}"'

Look at what there is, and why:

  kubectl get nodepools,nodeclaims,nodes
  kubectl get events --field-selector reason=Nominated
  joiner clusters
  joiner doctor --kubeconfig "$KUBECONFIG"
  joiner why node "$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')"
  joiner decisions
  joiner savings
  joiner report
  joiner stops
  aws ec2 describe-instances --query 'Reservations[].Instances[].[InstanceId,InstanceType,State.Name]' --output table

Scale up, and see nodes come:

  kubectl scale deployment inflate --replicas=60

Scale to 3 and wait a minute, and see nodes consolidated:

  kubectl scale deployment inflate --replicas=3

EC2 warns that it reclaims a spot instance:

  INSTANCE="$(kubectl get nodes -l karpenter.sh/capacity-type=spot -o jsonpath='{.items[0].spec.providerID}' | sed 's|.*/||')"
  aws sqs send-message --endpoint-url "$AWS_ENDPOINT_URL" --queue-url {{.Notices}} --message-body '{
    "version":"0","id":"by-hand","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning",
    "account":"{{.Account}}","region":"{{.Region}}","time":"'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'",
    "detail":{"instance-id":"'"$INSTANCE"'","instance-action":"terminate"}}'

Delete a node: it is drained, its instance terminated, and another comes for its pods:

  kubectl delete node "$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')" --wait=false

Apply a mistake, and be told:

  kubectl patch nodepool default --dry-run=server --type merge \
    -p '{"spec":{"template":{"spec":{"nodeClassRef":{"name":"missing"}}}}}'

Delete the NodePool with all its nodes:

  kubectl delete nodepool default --wait=false

Logs: {{.Logs}}
`))
