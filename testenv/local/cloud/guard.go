package cloud

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// ConfigForService returns SDK configuration for an AWS service that acts for a resource of the account, e.g.
// "events.amazonaws.com" for the ARN of a rule: what it may do is in the policies of resources.
func (c *Cloud) ConfigForService(service, sourceARN string) aws.Config {
	k := c.STS.AddService(service)
	c.mu.Lock()
	c.sources[k.AccessKeyID] = sourceARN
	c.mu.Unlock()
	return c.ConfigFor(k)
}

// principal returns who signed a request, and of a service the condition keys that say for whom it acts.
func (c *Cloud) principal(caller wire.Identity) (policy.Principal, map[string][]string) {
	arn, session := c.STS.Principal(caller.AccessKeyID)
	if !strings.HasPrefix(arn, "arn:") {
		c.mu.Lock()
		source := c.sources[caller.AccessKeyID]
		c.mu.Unlock()
		return policy.Service(arn), map[string][]string{"aws:sourcearn": {source}, "aws:sourceaccount": {c.options.Account}}
	}
	p := policy.Principal{ARN: arn, Account: caller.Account}
	if session != "" {
		p.Session = caller.ARN
	}
	return p, nil
}

// guard returns who decides about a request: the account's policies, once there are any.
func (c *call) guard(r *http.Request) wire.Guard {
	book := c.cloud.Policies
	if book.Empty() || c.unsigned() {
		return nil
	}
	who, source := c.cloud.principal(c.caller)
	extra := map[string][]string{"aws:userid": {c.caller.UserID}}
	if agent := r.UserAgent(); agent != "" {
		extra["aws:useragent"] = []string{agent}
	}
	for key, values := range source {
		extra[key] = values
	}
	return func(a wire.Access) string {
		context := map[string][]string{}
		for _, keys := range []map[string][]string{extra, a.Context} {
			for key, values := range keys {
				context[key] = values
			}
		}
		a.Context = context
		if d := book.Decide(who, a); !d.Allowed() {
			return access.Because(d, a.Action)
		}
		return ""
	}
}

// authorize refuses a request that asks for what its caller may not do. Services that ask the guard themselves are left to it.
func (c *call) authorize(r *http.Request, guard wire.Guard) *wire.Error {
	if guard == nil || access.BySelf(c.service) {
		return nil
	}
	asked, err := c.cloud.Policies.Of(access.Request{Service: c.service, Action: c.action, HTTP: r, Body: c.body, Account: c.caller.Account})
	if err != nil {
		who, _ := c.cloud.principal(c.caller)
		if !c.cloud.Policies.Knows(who.ARN) && who.Service == "" {
			return nil // nothing names it
		}
		return wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%v", err)
	}
	var refused *wire.Error
	for _, a := range asked {
		if because := guard(a); because != "" && refused == nil {
			refused = c.denied(r, a, because)
		}
	}
	return refused
}

// denied words a refusal as the service does.
func (c *call) denied(r *http.Request, a wire.Access, because string) *wire.Error {
	message := wire.NotAuthorized(r.Context(), a, because)
	switch c.service {
	case "sqs":
		e := wire.StatusErrorf(http.StatusForbidden, "AccessDeniedException", "%s", message)
		e.QueryCode = "AccessDenied"
		return e
	case "s3":
		return wire.StatusErrorf(http.StatusForbidden, "AccessDenied", "%s", message)
	case "eks", "lambda", "arc-zonal-shift":
		return wire.StatusErrorf(http.StatusForbidden, "AccessDeniedException", "%s", message)
	}
	return wire.Errorf("AccessDeniedException", "%s", message)
}

// hide replaces the answer that an object does not exist where the caller may not know. answered is what the handler said.
func (c *call) hide(w *answer, r *http.Request, guard wire.Guard) {
	if guard == nil {
		return
	}
	a, hidden := access.Hidden(access.Request{Service: c.service, Action: c.action, HTTP: r}, w.status)
	if !hidden {
		return
	}
	who, _ := c.cloud.principal(c.caller)
	if d := c.cloud.Policies.Try(who, a); !d.Allowed() {
		for name := range w.header {
			w.header.Del(name)
		}
		w.body.Reset()
		wire.WriteError(w, r, c.protocol, c.denied(r, a, access.Because(d, a.Action)))
	}
}
