package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/model"
)

// programRole is a function and the role by which it acts for a cluster.
type programRole struct{ program, role string }

// programRoles are the roles of the functions for a cluster: its own, else the installation's.
func (o *session) programRoles(reg *model.Registration) []programRole {
	out := []programRole{
		{"provision", reg.Roles.Provision}, {"interruption", reg.Roles.Interruption}, {"catalog", reg.Roles.Catalog}, {"disrupt", reg.Roles.Disrupt},
	}
	for i := range out {
		if out[i].role == "" {
			out[i].role = o.Roles[out[i].program]
		}
	}
	return out
}

// helmCommand is what installs the watcher; nil where the installation is not known. What it lacks, because it cannot be known
// here, is said in sentences.
func (o *session) helmCommand(ctx context.Context, reg *model.Registration, image string) (command, lacks []string, err error) {
	if o.unread != nil {
		return nil, nil, nil
	}
	in, err := json.Marshal(map[string]any{"account": o.Account, "region": o.Region, "table": o.Table, "bucket": o.Bucket, "queues": o.Queues})
	if err != nil {
		return nil, nil, err
	}
	command = []string{"helm", "upgrade", "--install", "joiner", "infra/chart", "--namespace", "joiner", "--create-namespace",
		"--set", "cluster=" + reg.Cluster, "--set-json", "installation=" + string(in)}
	if reg.Account != o.Account {
		command = append(command, "--set-string", "account="+reg.Account)
	}
	if reg.Region != o.Region {
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
		relay, lacking, err := o.relayValues(ctx, reg)
		if err != nil {
			return nil, nil, err
		}
		command, lacks = append(command, "--set-json", "relay="+relay), lacking
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
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		return []string{"--set", "image.repository=" + image[:at], "--set-string", "image.tag=" + image[at+1:]}
	}
	return []string{"--set", "image.repository=" + image}
}

// relayValues is the chart's value "relay" as JSON: the queue, and for whom the watcher carries out what comes by it. A role's
// unique id is not its name: IAM is asked with the caller's own permissions (iam:GetRole).
func (o *session) relayValues(ctx context.Context, reg *model.Registration) (value string, lacks []string, err error) {
	client, senders := iam.NewFromConfig(o.config), map[string]string{}
	for _, p := range o.programRoles(reg) {
		if p.role == "" {
			lacks = append(lacks, fmt.Sprintf("the role of function %s is unknown; add --set relay.senders.ID=%s, ID being the unique id (AROA…) of its role", p.program, p.program))
			continue
		}
		id, err := roleID(ctx, client, p.role)
		if err != nil {
			lacks = append(lacks, fmt.Sprintf("the unique id of role %s is unknown (%v); add --set relay.senders.ID=%s, ID being what aws iam get-role --role-name %s --query Role.RoleId prints in its account",
				p.role, err, p.program, roleName(p.role)))
			continue
		}
		senders[id] = p.program
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
