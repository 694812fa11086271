"""Operations of an HTTP API as tools, from its OpenAPI document."""

from ez_ptc.openapi.http import ApiRequest, ApiResponse, HttpClient
from ez_ptc.openapi.operations import ApiOperation
from ez_ptc.openapi.tools import openapi_tools

__all__ = ["ApiOperation", "ApiRequest", "ApiResponse", "HttpClient", "openapi_tools"]
