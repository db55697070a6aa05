package main

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/admission"
	"github.com/joiner-sh/joiner/shared/flow/review"
	"github.com/joiner-sh/joiner/shared/model"
)

// handler translates requests of an HTTP API (payload format 2.0) into reviews.
type handler struct {
	flow    *review.Flow
	secrets *secrets
	own     model.Registration // account and region of paths that name none
	logger  *slog.Logger
}

// handle answers one request. Nothing of the request is in an answer or a log but what the verdict says of it.
func (h *handler) handle(ctx context.Context, request events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	secret, reg, ok := h.addressed(request.RawPath)
	known, err := h.secrets.Has(ctx, secret)
	switch {
	case err != nil:
		h.logger.Error("the webhook's secret cannot be read", "error", err.Error())
		return plain(http.StatusServiceUnavailable), nil
	case !known || !ok:
		h.logger.Warn("a request without the secret")
		return plain(http.StatusNotFound), nil
	case request.RequestContext.HTTP.Method != http.MethodPost:
		return plain(http.StatusMethodNotAllowed), nil
	case len(request.Body) > admission.MaxBytes*4/3+4:
		return plain(http.StatusRequestEntityTooLarge), nil
	}
	body := []byte(request.Body)
	if request.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(request.Body); err != nil {
			return plain(http.StatusBadRequest), nil
		}
	}
	answer, err := admission.Handle(ctx, body, func(ctx context.Context, a model.Admission) model.Verdict {
		verdict, err := h.flow.Admit(ctx, reg, a)
		if err != nil {
			h.logger.Warn("reviewed without the catalog", "account", reg.Account, "region", reg.Region, "error", err.Error())
		}
		h.logger.Info("review", "operation", a.Operation, "refusals", len(verdict.Refusals), "warnings", len(verdict.Warnings))
		return verdict
	})
	if err != nil {
		h.logger.Warn("a review that cannot be answered", "error", err.Error())
		return plain(admission.HTTPStatus(err)), nil
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Headers: map[string]string{"content-type": "application/json"}, Body: string(answer)}, nil
}

var (
	account = regexp.MustCompile(`^[0-9]{12}$`)
	region  = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$`)
)

// addressed reads a path: /SECRET or /SECRET/ACCOUNT/REGION. Not ok where account or region are none.
func (h *handler) addressed(path string) (secret string, reg model.Registration, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) == 1:
		return parts[0], h.own, true
	case len(parts) == 3 && account.MatchString(parts[1]) && region.MatchString(parts[2]):
		return parts[0], model.Registration{Account: parts[1], Region: parts[2]}, true
	}
	return parts[0], h.own, false
}

func plain(status int) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: status, Body: http.StatusText(status)}
}
