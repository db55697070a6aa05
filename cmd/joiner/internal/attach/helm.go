package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/model"
)

// helmCommand is what installs the watcher; nil where the installation is not known. What it lacks, because it cannot
// be known here, is said in sentences.
func helmCommand(
	ctx context.Context, at *installation.Session, reg *model.Registration, image string,
) (command, lacks []string, err error) {
	if at.Unread != nil {
		return nil, nil, nil
	}
	in, err := json.Marshal(map[string]any{"account": at.Account, "region": at.Region, "table": at.Table,
		"bucket": at.Bucket, "queues": at.Queues})
	if err != nil {
		return nil, nil, err
	}
	command = []string{"helm", "upgrade", "--install", "joiner", "infra/chart", "--namespace", "joiner",
		"--create-namespace",
		"--set", "cluster=" + reg.Cluster, "--set-json", "installation=" + string(in)}
	if reg.Account != at.Account {
		command = append(command, "--set-string", "account="+reg.Account)
	}
	if reg.Region != at.Region {
		command = append(command, "--set", "region="+reg.Region)
	}
	if reg.DefaultSpread != "" && strings.TrimSpace(reg.DefaultSpread) != "none" {
		spread, err := yaml.YAMLToJSON([]byte(reg.DefaultSpread))
		if err != nil {
			return nil, nil, fmt.Errorf("--default-spread: %w", err)
		}
		command = append(command, "--set-json", "defaultSpread="+string(spread))
	}
	if reg.RelayURL != "" {
		relay, lacking, err := relayValues(ctx, at, reg)
		if err != nil {
			return nil, nil, err
		}
		command, lacks = append(command, "--set-json", "relay="+relay), lacking
	}
	if reg.SelfManaged {
		command = append(command, selfManagedValues(reg)...)
		lacks = append(lacks, "there is no Pod Identity outside of EKS; add --set serviceAccount.roleARN=ARN, the "+
			"output WatcherRoleARN of the cluster's stack, or --set networkPolicy.instanceMetadata=true if the "+
			"watcher has the role of its instances")
	}
	return append(command, imageValues(image)...), lacks, nil
}

// imageValues are the chart's for REPOSITORY, REPOSITORY:TAG or REPOSITORY@DIGEST.
func imageValues(image string) []string {
	if image == "" {
		return nil
	}
	if repository, digest, is := strings.Cut(image, "@"); is {
		return []string{"--set", "image.repository=" + repository, "--set", "image.digest=" + digest}
	}
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return []string{"--set", "image.repository=" + image[:colon], "--set-string", "image.tag=" + image[colon+1:]}
	}
	return []string{"--set", "image.repository=" + image}
}

// relayValues is the chart's value "relay" as JSON: the queue, and for whom the watcher carries out what comes by it. A
// role's unique id is not its name: IAM is asked with the caller's own permissions (iam:GetRole).
func relayValues(
	ctx context.Context, at *installation.Session, reg *model.Registration,
) (value string, lacks []string, err error) {
	client, senders := iam.NewFromConfig(at.Config), map[string]string{}
	for _, p := range at.ProgramRoles(reg) {
		if p.Role == "" {
			lacks = append(lacks,
				fmt.Sprintf("the role of function %s is unknown; add --set relay.senders.ID=%s, ID being the unique "+
					"id (AROA…) of its role", p.Program, p.Program))
			continue
		}
		id, err := roleID(ctx, client, p.Role)
		if err != nil {
			lacks = append(lacks,
				fmt.Sprintf("the unique id of role %s is unknown (%v); add --set relay.senders.ID=%s, ID being what "+
					"aws iam get-role --role-name %s --query Role.RoleId prints in its account",
					p.Role, err, p.Program, roleName(p.Role)))
			continue
		}
		senders[id] = p.Program
	}
	text, err := json.Marshal(map[string]any{"enabled": true, "queueURL": reg.RelayURL, "senders": senders})
	return string(text), lacks, err
}

// roleName is the last part of a role's ARN, which IAM finds it by.
func roleName(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

func roleID(ctx context.Context, client *iam.Client, arn string) (string, error) {
	out, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(roleName(arn))})
	if err != nil {
		return "", err
	}
	if is := aws.ToString(out.Role.Arn); is != arn {
		return "", errors.New("your credentials are of another account: its role of that name is " + is)
	}
	return aws.ToString(out.Role.RoleId), nil
}

// shellWords joins words so that a shell takes them apart the same way.
func shellWords(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if strings.ContainsAny(word, " {}[]\"'$`\\!*?&;|<>()#~") {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
