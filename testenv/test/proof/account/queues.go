package account

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// queuePolicies has the account's policies know those that queues are made with.
func queuePolicies(a *Account, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		var in struct {
			QueueName  string
			Attributes map[string]string
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".CreateQueue") && json.Unmarshal(text, &in) == nil && in.Attributes["Policy"] != "" {
			document, err := policy.Parse([]byte(in.Attributes["Policy"]), policy.Resource)
			if err != nil {
				wire.WriteError(w, r, wire.ProtocolJSON, wire.Errorf("InvalidAttributeValue", "Policy: %v", err))
				return
			}
			a.Cloud.Policies.SetResource("arn:aws:sqs:"+a.Cloud.Region()+":"+a.Cloud.Account()+":"+in.QueueName, "policy of "+in.QueueName, document)
		}
		next.ServeHTTP(w, r)
	})
}
