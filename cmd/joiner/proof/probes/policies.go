package probes

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// Policies are tried with GetQueueUrl of a queue of the run's.

const (
	let    = "allowed"
	denied = "denied"
)

// evaluated asks as a session with some statements whether GetQueueUrl is let through.
func evaluated(ctx context.Context, e *proof.Env, statements ...proof.Statement) (string, error) {
	c, err := proof.Session(ctx, e, statements...)
	if err != nil {
		return "", err
	}
	_, err = c.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(proof.QueueOfAll(e))})
	switch code := proof.Code(err); code {
	case "AccessDenied", "AccessDeniedException":
		return denied, nil
	case "ok":
		return let, nil
	default:
		return code, proof.Answered(err)
	}
}

// element is a probe of one element of policies: what a session with each list of statements may do.
func element(id, assumption string, want proof.Seen, cases map[string]func(e *proof.Env) []proof.Statement) proof.Probe {
	return ofIAM("iam", id, assumption, "GetQueueUrl by sessions with policies of their own", roleRights, want, func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
		seen := proof.Seen{}
		for _, fact := range sorted(cases) {
			said, err := evaluated(ctx, e, cases[fact](e)...)
			if err != nil {
				return nil, err
			}
			seen[fact] = said
		}
		return seen, nil
	})
}

func allow(condition map[string]map[string]any, resources ...string) proof.Statement {
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	return proof.Statement{Effect: "Allow", Action: []string{"sqs:GetQueueUrl"}, Resource: resources, Condition: condition}
}

func always(s ...proof.Statement) func(*proof.Env) []proof.Statement {
	return func(*proof.Env) []proof.Statement { return s }
}

func when(operator, key string, value any) map[string]map[string]any {
	return map[string]map[string]any{operator: {key: value}}
}

func policies() []proof.Probe {
	const missing = "aws:RequestTag/joiner.sh/nothing"
	deny := proof.Statement{Effect: "Deny", Action: []string{"sqs:Get*"}, Resource: []string{"*"}}
	return []proof.Probe{
		element("policy-deny-first", "an explicit deny comes first", proof.Seen{"allowed and denied": denied, "allowed": let}, map[string]func(*proof.Env) []proof.Statement{
			"allowed and denied": always(allow(nil), deny), "allowed": always(allow(nil)),
		}),
		element("policy-missing-key", "a key that is missing fails a plain operator, makes a negated one true, and IfExists, too", proof.Seen{
			"StringEquals": denied, "StringNotEquals": let, "StringEqualsIfExists": let, "Null true": let, "Null false": denied,
		}, map[string]func(*proof.Env) []proof.Statement{
			"StringEquals": always(allow(when("StringEquals", missing, "a"))), "StringNotEquals": always(allow(when("StringNotEquals", missing, "a"))),
			"StringEqualsIfExists": always(allow(when("StringEqualsIfExists", missing, "a"))),
			"Null true":            always(allow(when("Null", missing, "true"))), "Null false": always(allow(when("Null", missing, "false"))),
		}),
		element("policy-for-all-values-of-nothing", "ForAllValues holds where there is nothing, ForAnyValue does not", proof.Seen{"ForAllValues": let, "ForAnyValue": denied}, map[string]func(*proof.Env) []proof.Statement{
			"ForAllValues": always(allow(when("ForAllValues:StringEquals", "aws:TagKeys", []string{"a"}))), "ForAnyValue": always(allow(when("ForAnyValue:StringEquals", "aws:TagKeys", []string{"a"}))),
		}),
		element("policy-variable-missing", "a resource with a variable that the request does not have is none of the statement's", proof.Seen{"resource": denied}, map[string]func(*proof.Env) []proof.Statement{
			"resource": func(e *proof.Env) []proof.Statement {
				return []proof.Statement{allow(nil, "arn:"+e.Partition+":sqs:*:*:*${"+missing+"}*")}
			},
		}),
		element("policy-variable-account", "a variable stands for the request's value", proof.Seen{"own account": let}, map[string]func(*proof.Env) []proof.Statement{
			"own account": func(e *proof.Env) []proof.Statement {
				return []proof.Statement{allow(nil, "arn:"+e.Partition+":sqs:*:${aws:PrincipalAccount}:*")}
			},
		}),
		element("policy-stars", "ARNs are compared part by part, and a star of the last part goes over everything", proof.Seen{"last part": let, "other region": denied, "star of the account": let}, map[string]func(*proof.Env) []proof.Statement{
			"last part": func(e *proof.Env) []proof.Statement {
				return []proof.Statement{allow(nil, e.ARN("sqs", proof.Prefix+"*"))}
			},
			"other region": func(e *proof.Env) []proof.Statement {
				return []proof.Statement{allow(nil, "arn:"+e.Partition+":sqs:mars-1:*:*")}
			},
			"star of the account": func(e *proof.Env) []proof.Statement {
				return []proof.Statement{allow(nil, "arn:"+e.Partition+":sqs:"+e.Region+":*:"+proof.Prefix+"*")}
			},
		}),
		element("policy-session-takes-away", "a session may do what its own policy and the role's both allow", proof.Seen{"without the session's": denied, "with both": let}, map[string]func(*proof.Env) []proof.Statement{
			"without the session's": always(proof.Statement{Effect: "Allow", Action: []string{"sqs:SendMessage"}, Resource: []string{"*"}}), "with both": always(proof.Everything),
		}),
		element("policy-arn-like", "ArnLike compares part by part, StringLike the whole text", proof.Seen{"ArnLike": let, "StringLike": let, "ArnEquals": let}, map[string]func(*proof.Env) []proof.Statement{
			"ArnLike":    always(allow(when("ArnLike", "aws:PrincipalArn", "arn:*:iam::*:role"+proof.Path+"*"))),
			"StringLike": always(allow(when("StringLike", "aws:PrincipalArn", "arn:*role"+proof.Path+"*"))),
			"ArnEquals":  always(allow(when("ArnEquals", "aws:PrincipalArn", "arn:*:iam::*:role"+proof.Path+"*"))),
		}),
	}
}
