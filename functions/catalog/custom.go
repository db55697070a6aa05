package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

// customType is the resource by which a cluster's stack registers the cluster. Its properties are fields of
// model.Registration.
const customType = "Custom::JoinerCluster"

// Physical ids. One that does not begin with the first is of nothing that was made.
const (
	attachedID    = "joiner/"
	notAttachedID = "joiner-not-attached/"
)

const (
	answerIn  = 15 * time.Second // kept of the invocation's time for the answer
	answerTry = 4 * time.Second
	// maxReason and the rest stay within the 4 KB that CloudFormation takes of an answer. Source: CloudFormation user guide,
	// "Custom resource response objects".
	maxReason = 2000
)

// attacher is what the custom resource asks for.
type attacher interface {
	Attach(ctx context.Context, desired attach.Desired) (attach.AttachOutcome, error)
	Detach(ctx context.Context, d attach.DetachRequest) (attach.DetachOutcome, error)
}

// custom carries out what CloudFormation asks of a Custom::JoinerCluster, and answers it whatever happens: without an answer a
// stack waits for as long as it may.
type custom struct {
	flow     attacher
	client   *http.Client // follows no redirects: see newAnswers
	endpoint string       // of AWS, where it is a model on this machine; "" = AWS itself
	logger   *slog.Logger
}

// readCustom returns the event of a custom resource; nil where it is another.
func readCustom(event json.RawMessage) *cfn.Event {
	var e cfn.Event
	if json.Unmarshal(event, &e) != nil || e.RequestType == "" || e.ResponseURL == "" {
		return nil
	}
	return &e
}

// handle carries out a request and answers it. Its error is that the answer could not be given.
func (c *custom) handle(ctx context.Context, e *cfn.Event) error {
	if !mayAnswer(e.ResponseURL, e.StackID, c.endpoint) { // whoever asks is not CloudFormation: nothing is done either
		c.logger.Warn("custom resource refused", "request", e.RequestType, "stack", e.StackID, "error", errAddress.Error())
		return errAddress
	}
	limited, cancel := context.WithDeadline(ctx, boot.Deadline(ctx).Add(-answerIn))
	defer cancel()
	answer := cfn.NewResponse(e)
	var err error
	answer.PhysicalResourceID, answer.Data, err = c.carryOut(limited, e)
	answer.Status = cfn.StatusSuccess
	if err != nil {
		answer.Status, answer.Reason = cfn.StatusFailed, reason(err)
	}
	c.logger.Info("custom resource", "request", e.RequestType, "stack", e.StackID, "resource", answer.PhysicalResourceID, "error", boot.ErrorText(err))
	return c.answer(ctx, e.ResponseURL, answer)
}

// reason is an error as people read it in the stack's events.
func reason(err error) string {
	text := err.Error()
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// carryOut does what is asked for, and survives what goes wrong in it.
func (c *custom) carryOut(ctx context.Context, e *cfn.Event) (id string, data map[string]any, err error) {
	id = e.PhysicalResourceID
	if id == "" {
		id = notAttachedID + e.RequestID
	}
	defer func() {
		if problem := recover(); problem != nil {
			c.logger.Error("panic", "problem", fmt.Sprint(problem))
			err = fmt.Errorf("the function panicked over this request (%v); its log has more", problem)
		}
	}()
	if e.ResourceType != customType {
		return id, nil, fmt.Errorf("resource type %q is not one of this function's, which are %s", e.ResourceType, customType)
	}
	stack, err := stackOf(ctx, e.StackID)
	if err != nil {
		return id, nil, err
	}
	switch e.RequestType {
	case cfn.RequestCreate, cfn.RequestUpdate:
		return c.attach(ctx, e, id, stack)
	case cfn.RequestDelete:
		return id, nil, c.detach(ctx, e, stack)
	}
	return id, nil, fmt.Errorf("request type %q is not Create, Update or Delete", e.RequestType)
}

func (c *custom) attach(ctx context.Context, e *cfn.Event, id string, stack arn.ARN) (string, map[string]any, error) {
	desired, err := standaloneOf(e.ResourceProperties)
	if err != nil {
		return id, nil, err
	}
	if err := ofStack(stack, &desired.Registration); err != nil {
		return id, nil, err
	}
	desired.Stack, desired.Hub = e.StackID, stack.AccountID
	if _, was := e.OldResourceProperties["paused"]; was && desired.Paused == nil { // who took it out of the stack wants it to go on
		desired.Paused = aws.Bool(false)
	}
	out, err := c.flow.Attach(ctx, desired)
	if err != nil {
		return id, nil, err
	}
	c.logger.Info("attached", "cluster", out.Registration.Cluster, "new", out.New, "changed", out.Changed, "warnings", out.Warnings)
	data := map[string]any{
		"cluster": out.Registration.Cluster, "arn": out.Registration.ARN, "endpoint": out.Registration.Endpoint, "version": out.Registration.Version,
		"warnings": reason(errors.New(strings.Join(out.Warnings, "; "))),
	}
	return attachedID + out.Registration.Cluster, data, nil
}

// detach takes a cluster out again. What never came into being, or is another cluster by now, is none of this resource's.
func (c *custom) detach(ctx context.Context, e *cfn.Event, stack arn.ARN) error {
	cluster, made := strings.CutPrefix(e.PhysicalResourceID, attachedID)
	if !made || cluster == "" {
		return nil
	}
	its, _ := e.ResourceProperties["arn"].(string)
	region, _ := e.ResourceProperties["region"].(string)
	if err := ofStack(stack, &model.Registration{ARN: its, Region: region,
		SelfManaged: fmt.Sprint(e.ResourceProperties["selfManaged"]) == "true"}); err != nil {
		return err
	}
	out, err := c.flow.Detach(ctx, attach.DetachRequest{Cluster: cluster, ARN: its, Stack: e.StackID, Owner: "stack-" + e.RequestID})
	if fault.Is(err, fault.NotFound) {
		c.logger.Info("nothing to detach", "cluster", cluster, "why", err.Error())
		return nil
	}
	if err == nil {
		c.logger.Info("detached", "cluster", cluster, "warnings", out.Warnings)
	}
	return err
}

// ofStack refuses a request that does not name the cluster by its ARN, which only those of EKS have, or whose stack is
// in another region.
func ofStack(stack arn.ARN, reg *model.Registration) error {
	if reg.SelfManaged {
		if reg.Region != stack.Region {
			return fault.New(fault.Invalid, "",
				"property region: %q is not that of stack %s; deploy a cluster's stack in its region",
				reg.Region, stack)
		}
		return nil
	}
	cluster := reg.ARN
	its, err := arn.Parse(cluster)
	if err != nil || its.Service != "eks" {
		return fault.New(fault.Invalid, "", "property arn: %q is not the ARN of an EKS cluster; a stack names its cluster by its ARN", cluster)
	}
	if its.Partition != stack.Partition || its.Region != stack.Region {
		return fault.New(fault.Invalid, "", "property arn: %q is in region %s, and stack %s in %s; deploy a cluster's stack in its region", cluster, its.Region, stack, stack.Region)
	}
	return nil
}

// stackOf reads the ARN of the stack that asks, and refuses one of another account than the function's. Lambda's permissions keep other
// accounts from invoking the function; a permission that an earlier version gave and that is still there is worth nothing.
func stackOf(ctx context.Context, stackID string) (arn.ARN, error) {
	stack, err := arn.Parse(stackID)
	if err != nil {
		return stack, fault.New(fault.Invalid, "", "StackId: %q is not the ARN of a stack", stackID)
	}
	invoked, _ := lambdacontext.FromContext(ctx)
	if invoked == nil {
		return stack, fault.New(fault.Denied, "OtherAccount", "the account of stack %s cannot be compared with the function's: the invocation does not name the function", stackID)
	}
	own, err := arn.Parse(invoked.InvokedFunctionArn)
	if err != nil || own.AccountID != stack.AccountID {
		return stack, fault.New(fault.Denied, "OtherAccount",
			"stack %s is of account %s, and only stacks of this function's account %s register clusters; a cluster of another account is registered by the stack in this one, joiner-cluster-NAME-hub",
			stackID, stack.AccountID, own.AccountID)
	}
	return stack, nil
}

// answer puts the answer where CloudFormation waits for it, a few times.
func (c *custom) answer(ctx context.Context, url string, answer *cfn.Response) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	for wait := 200 * time.Millisecond; ; wait *= 2 {
		if err = c.put(ctx, url, body); err == nil || wait > time.Second {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// put sends a body without a content type: the signature of the URL was made without one.
func (c *custom) put(ctx context.Context, url string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerTry)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return errors.New("answer CloudFormation: the response URL cannot be read") // it is a secret
	}
	request.Header["Content-Type"] = nil
	response, err := c.client.Do(request)
	if err != nil {
		return fmt.Errorf("answer CloudFormation: %w", withoutURL(err))
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // only for the connection's sake
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answer CloudFormation: it says %s", response.Status)
	}
	return nil
}

// withoutURL is an error of a request without its URL, by which anybody could answer.
func withoutURL(err error) error {
	var of interface{ Unwrap() error }
	if errors.As(err, &of) {
		if inner := of.Unwrap(); inner != nil {
			return inner
		}
	}
	return err
}

// notProperties are properties that CloudFormation itself goes by.
var notProperties = []string{"ServiceToken", "ServiceTimeout"}

// settable are the fields of model.Registration that a stack may say. The others are EKS's to say, or ours.
var settable = []string{
	"cluster", "arn", "account", "region", "roles", "externalID", "relayURL", "clusterDNS", "paused", "defaultSpread", "batchIdleMillis", "batchMaxMillis",
	"selfManaged",
}

// ofPlane are the fields that a stack may say of a self-managed cluster. Of others EKS says them.
var ofPlane = []string{"endpoint", "ca", "version", "serviceCIDR"}

// standaloneOf reads properties. CloudFormation hands on every number and truth value as text.
func standaloneOf(properties map[string]any) (attach.Desired, error) {
	var desired attach.Desired
	known := settable
	if fmt.Sprint(properties["selfManaged"]) == "true" {
		known = slices.Concat(settable, ofPlane)
	}
	for name := range properties {
		if !slices.Contains(known, name) && !slices.Contains(notProperties, name) {
			return desired, fault.New(fault.Invalid, "", "property %s: it is not a property that can be set; there are %s",
				name, strings.Join(known, ", "))
		}
	}
	if err := fill(reflect.ValueOf(&desired.Registration).Elem(), "", properties); err != nil {
		return desired, err
	}
	if _, said := properties["paused"]; said {
		desired.Paused = aws.Bool(desired.Registration.Paused)
		desired.Registration.Paused = false
	}
	return desired, nil
}

// fill sets the fields of a struct by their JSON names from texts.
func fill(into reflect.Value, path string, from map[string]any) error {
	known := map[string]bool{}
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		known[name] = true
		if value, said := from[name]; said {
			if err := set(into.Field(i), path+name, value); err != nil {
				return err
			}
		}
	}
	for name := range from {
		if path != "" && !known[name] {
			return fault.New(fault.Invalid, "", "property %s%s: there is no such field", path, name)
		}
	}
	return nil
}

func set(field reflect.Value, path string, value any) error {
	text := fmt.Sprint(value)
	bad := func(want string) error {
		return fault.New(fault.Invalid, "", "property %s: %q is not a %s", path, text, want)
	}
	nested, is := value.(map[string]any)
	switch field.Kind() {
	case reflect.Struct:
		if !is {
			return bad("map of names to texts")
		}
		return fill(field, path+".", nested)
	case reflect.String:
		if _, text := value.(string); !text {
			return bad("text")
		}
		field.SetString(text)
	case reflect.Bool:
		truth, err := strconv.ParseBool(text)
		if err != nil {
			return bad("boolean: use true or false")
		}
		field.SetBool(truth)
	case reflect.Slice: // of bytes: the certificate authority
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return bad("text in base64")
		}
		field.SetBytes(decoded)
	case reflect.Int64:
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return bad("whole number")
		}
		field.SetInt(number)
	default:
		return bad("property that can be set")
	}
	return nil
}

// planes asks EKS with the permissions of each cluster's catalog role.
type planes struct{ config aws.Config }

// Describe returns the registration's cluster.
func (p planes) Describe(ctx context.Context, reg model.Registration) (model.ControlPlane, error) {
	config := boot.Rights(p.config, "joiner-catalog", reg.Region, reg.Roles.Catalog, reg.ExternalID)
	return ekscontrol.New(eks.NewFromConfig(config)).Describe(ctx, reg)
}

// pause waits, and returns early where the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
